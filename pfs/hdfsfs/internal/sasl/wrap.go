package sasl

import (
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/crypto/etype"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// The header of a wrap token (RFC 4121, section 4.2.6.2), and its flags.
const (
	headerLength = 16

	byAcceptor     = 1
	sealed         = 2
	acceptorSubkey = 4
)

// wrapOverhead is the most by which a token is longer than its message: two headers, a confounder and a checksum.
const wrapOverhead = 2*headerLength + 16 + 24

// wrapLayer is the layer of GSSAPI.
type wrapLayer struct {
	key      types.EncryptionKey
	kind     etype.EType
	flags    byte // those that tokens of both sides have
	seals    bool
	maxPlain int

	send, receive uint64 // the next sequence numbers
}

// newWrapLayer returns the layer with the key and the sequence numbers that were agreed on.
func newWrapLayer(a types.Authenticator, r messages.EncAPRepPart) (*wrapLayer, error) {
	l := &wrapLayer{key: a.SubKey, send: uint64(a.SeqNumber), receive: uint64(r.SequenceNumber)}
	if len(r.Subkey.KeyValue) > 0 {
		l.key, l.flags = r.Subkey, acceptorSubkey
	}
	var err error
	if l.kind, err = crypto.GetEtype(l.key.KeyType); err != nil {
		return nil, err
	}
	if len(l.key.KeyValue) != l.kind.GetKeyByteSize() {
		return nil, fmt.Errorf("the key of the server has %d bytes", len(l.key.KeyValue))
	}
	return l, nil
}

func (l *wrapLayer) MaxPlain() int { return l.maxPlain }

// header returns a header without the lengths of the checksum and of the rotation.
func header(flags byte, number uint64) []byte {
	h := []byte{5, 4, flags, 0xff, 0, 0, 0, 0}
	return binary.BigEndian.AppendUint64(h, number)
}

func (l *wrapLayer) Wrap(p []byte) ([]byte, error) {
	if l.seals {
		h := header(l.flags|sealed, l.send)
		_, body, err := l.kind.EncryptMessage(l.key.KeyValue, slices.Concat(p, h), keyusage.GSSAPI_INITIATOR_SEAL)
		if err != nil {
			return nil, fmt.Errorf("GSSAPI: %w", err)
		}
		l.send++
		return append(h, body...), nil
	}
	h := header(l.flags, l.send)
	sum, err := l.kind.GetChecksumHash(l.key.KeyValue, slices.Concat(p, h), keyusage.GSSAPI_INITIATOR_SEAL)
	if err != nil {
		return nil, fmt.Errorf("GSSAPI: %w", err)
	}
	l.send++
	binary.BigEndian.PutUint16(h[4:], uint16(len(sum)))
	return slices.Concat(h, p, sum), nil
}

func (l *wrapLayer) Unwrap(p []byte) ([]byte, error) {
	want := l.flags | byAcceptor
	if l.seals {
		want |= sealed
	}
	switch {
	case len(p) < headerLength || p[0] != 5 || p[1] != 4 || p[3] != 0xff:
		return nil, errors.New("GSSAPI: a message is no wrap token")
	case p[2] != want:
		return nil, fmt.Errorf("GSSAPI: a message has the flags %#x instead of %#x", p[2], want)
	}
	if got := binary.BigEndian.Uint64(p[8:]); got != l.receive {
		return nil, fmt.Errorf("GSSAPI: message %d came instead of message %d", got, l.receive)
	}
	extra, rotation, body := int(binary.BigEndian.Uint16(p[4:])), int(binary.BigEndian.Uint16(p[6:])), p[headerLength:]
	if rotation > 0 && len(body) > 0 {
		rotation %= len(body)
		body = slices.Concat(body[rotation:], body[:rotation])
	}
	open := l.check
	if l.seals {
		open = l.decrypt
	}
	message, err := open(body, p[:headerLength], extra)
	if err != nil {
		return nil, fmt.Errorf("GSSAPI: message %d: %w", l.receive, err)
	}
	l.receive++
	return message, nil
}

// check returns the message of a token that ends with a checksum of n bytes.
func (l *wrapLayer) check(body, outer []byte, n int) ([]byte, error) {
	if n > len(body) {
		return nil, errors.New("it is too short")
	}
	message := body[:len(body)-n]
	sum, err := l.kind.GetChecksumHash(l.key.KeyValue, slices.Concat(message, header(outer[2], l.receive)), keyusage.GSSAPI_ACCEPTOR_SEAL)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal(sum, body[len(body)-n:]) {
		return nil, errors.New("the signature is wrong")
	}
	return message, nil
}

// decrypt returns the message of an encrypted token, which n bytes and the header follow.
func (l *wrapLayer) decrypt(body, outer []byte, n int) ([]byte, error) {
	plain, err := decrypt(body, l.key, keyusage.GSSAPI_ACCEPTOR_SEAL)
	if err != nil {
		return nil, err
	}
	end := len(plain) - headerLength - n
	if end < 0 {
		return nil, errors.New("it is too short")
	}
	inner := header(outer[2], l.receive)
	copy(inner[4:6], outer[4:6])
	if !hmac.Equal(inner, plain[len(plain)-headerLength:]) {
		return nil, errors.New("its header was changed")
	}
	return plain[:end], nil
}
