package sasl

import (
	"crypto/hmac"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
)

// macLength is the length of the part of an HMAC that is sent. A type and the sequence number follow it.
const (
	macLength   = 10
	trailLength = 2 + 4
)

// digestLayer is the layer of DIGEST-MD5. Its two directions share no state.
type digestLayer struct {
	send, receive direction
	maxPlain      int
}

// direction protects the messages of one direction.
type direction struct {
	mac    hash.Hash
	seals  bool
	sealer sealer
	next   uint32 // sequence number
	sum    [md5.Size]byte
}

// newDigestLayer returns the layer for H(A1). cipher is "" if messages are only signed.
func newDigestLayer(a1 [md5.Size]byte, cipher string, maxBuffer int, client bool) (Layer, error) {
	toServer, err := newDirection(a1, cipher, "client-to-server", client)
	if err != nil {
		return nil, err
	}
	toClient, err := newDirection(a1, cipher, "server-to-client", !client)
	if err != nil {
		return nil, err
	}
	l := &digestLayer{send: toServer, receive: toClient, maxPlain: maxBuffer - macLength - trailLength}
	if cipher != "" {
		l.maxPlain -= 10 // for the padding, as Java computes it
	}
	if !client {
		l.send, l.receive = toClient, toServer
	}
	if l.maxPlain <= 0 {
		return nil, fmt.Errorf("DIGEST-MD5: a maxbuf of %d bytes leaves no room for data", maxBuffer)
	}
	return l, nil
}

func newDirection(a1 [md5.Size]byte, cipher, way string, encrypts bool) (direction, error) {
	key := md5.Sum(append(a1[:], "Digest session key to "+way+" signing key magic constant"...))
	d := direction{mac: hmac.New(md5.New, key[:])}
	if cipher == "" {
		return d, nil
	}
	key = md5.Sum(append(a1[:], "Digest H(A1) to "+way+" sealing key magic constant"...))
	var err error
	d.seals = true
	d.sealer, err = newSealer(cipher, key[:], encrypts)
	return d, err
}

func (l *digestLayer) MaxPlain() int { return l.maxPlain }

// signature returns the signature of a message with the next sequence number.
func (d *direction) signature(p []byte) []byte {
	var number [4]byte
	binary.BigEndian.PutUint32(number[:], d.next)
	d.mac.Reset()
	d.mac.Write(number[:])
	d.mac.Write(p)
	return d.mac.Sum(d.sum[:0])[:macLength]
}

func (l *digestLayer) Wrap(p []byte) ([]byte, error) {
	d := &l.send
	pad := 0
	if d.seals {
		pad = d.sealer.padding(len(p) + macLength)
	}
	w := make([]byte, 0, len(p)+pad+macLength+trailLength)
	w = append(w, p...)
	for range pad {
		w = append(w, byte(pad))
	}
	w = append(w, d.signature(p)...)
	if d.seals {
		d.sealer.seal(w)
	}
	w = append(w, 0, 1)
	w = binary.BigEndian.AppendUint32(w, d.next)
	d.next++
	return w, nil
}

// Unwrap decrypts in place.
func (l *digestLayer) Unwrap(p []byte) ([]byte, error) {
	d := &l.receive
	if len(p) < macLength+trailLength {
		return nil, fmt.Errorf("DIGEST-MD5: a message of %d bytes is too short", len(p))
	}
	body, trail := p[:len(p)-trailLength], p[len(p)-trailLength:]
	if kind := binary.BigEndian.Uint16(trail); kind != 1 {
		return nil, fmt.Errorf("DIGEST-MD5: unknown type of message %d", kind)
	}
	if got := binary.BigEndian.Uint32(trail[2:]); got != d.next {
		return nil, fmt.Errorf("DIGEST-MD5: message %d came instead of message %d", got, d.next)
	}
	message, signature := body[:len(body)-macLength], body[len(body)-macLength:]
	if d.seals {
		var err error
		if message, signature, err = d.sealer.open(body, macLength); err != nil {
			return nil, fmt.Errorf("DIGEST-MD5: message %d: %w", d.next, err)
		}
	}
	if !hmac.Equal(signature, d.signature(message)) {
		return nil, errors.New("DIGEST-MD5: the signature of a message is wrong")
	}
	d.next++
	return message, nil
}
