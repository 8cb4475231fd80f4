package datanode

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/sasl"
	"google.golang.org/protobuf/proto"
)

// Security configures the protection of connections. The zero Security leaves them unprotected.
type Security struct {
	// Protections are those of dfs.data.transfer.protection, the wanted one first. If there are any, a connection begins
	// with a SASL exchange that proves the knowledge of a block token.
	Protections []sasl.QOP

	// EncryptionKey returns the key of a cluster that encrypts all data transfer (dfs.encrypt.data.transfer), and nil for
	// other clusters. With a key, Protections are ignored. fresh requests a new key.
	EncryptionKey func(ctx context.Context, fresh bool) (*hdfsproto.DataEncryptionKey, error)
}

// greeting begins the SASL exchange on a connection.
const greeting = 0xdeadbeef

// aesCTR is the number of the cipher suite AES/CTR/NoPadding.
const aesCTR = 2

// errUnknownKey means that the DataNode does not know the encryption key any more.
var errUnknownKey = errors.New("the DataNode does not know the encryption key")

// secure makes the SASL exchange on a new connection, if the cluster requires one.
func (c *Client) secure(ctx context.Context, cn *conn, token *hdfsproto.Token, fresh bool) error {
	s := c.opts.Security
	user, password := base64.StdEncoding.EncodeToString(token.GetIdentifier()), base64.StdEncoding.EncodeToString(token.GetPassword())
	protections := s.Protections
	var key *hdfsproto.DataEncryptionKey
	if s.EncryptionKey != nil {
		var err error
		if key, err = s.EncryptionKey(ctx, fresh); err != nil {
			return err
		}
	}
	if key != nil {
		user = strconv.Itoa(int(int32(key.GetKeyId()))) + " " + key.GetPoolId() + " " + base64.StdEncoding.EncodeToString(key.GetNonce())
		password = base64.StdEncoding.EncodeToString(key.GetKey())
		protections = []sasl.QOP{sasl.AuthConf}
	}
	if len(protections) == 0 {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { cn.Close() })
	defer stop()
	if err := cn.SetDeadline(time.Now().Add(c.opts.Timeout)); err != nil {
		return err
	}
	if err := cn.handshake(sasl.NewDigestMD5(user, []byte(password), "hdfs", "0", protections), protections[0] == sasl.AuthConf); err != nil {
		return fmt.Errorf("SASL exchange with the DataNode: %w", err)
	}
	return nil
}

// handshake makes the exchange, and protects all further bytes of the connection. encrypted offers AES instead of the slow
// ciphers of the mechanism.
func (cn *conn) handshake(m sasl.Mechanism, encrypted bool) error {
	if _, err := cn.Write(binary.BigEndian.AppendUint32(nil, greeting)); err != nil {
		return err
	}
	challenge, err := cn.exchange(&hdfsproto.Handshake{Payload: []byte{}})
	if err != nil {
		return err
	}
	payload, err := m.Start(challenge.GetPayload())
	if err != nil {
		return err
	}
	response := &hdfsproto.Handshake{Payload: payload}
	if encrypted {
		response.Ciphers = []*hdfsproto.CipherOption{{Suite: proto.Int32(aesCTR)}}
	}
	last, err := cn.exchange(response)
	if err != nil {
		return err
	}
	if _, err := m.Next(last.GetPayload()); err != nil {
		return err
	}
	if !m.Done() {
		return errMalformed
	}
	layer, err := m.Layer()
	if err != nil || layer == nil {
		return err
	}
	if ciphers := last.GetCiphers(); len(ciphers) > 0 {
		return cn.encrypt(layer, ciphers[0])
	}
	cn.protect(&wrapped{Conn: cn.Conn, in: cn.in, layer: layer})
	return nil
}

// exchange sends a message and receives the next.
func (cn *conn) exchange(m *hdfsproto.Handshake) (*hdfsproto.Handshake, error) {
	m.Status = hdfsproto.Handshake_SUCCESS.Enum()
	p, err := appendMessage(nil, m)
	if err != nil {
		return nil, err
	}
	if _, err := cn.Write(p); err != nil {
		return nil, err
	}
	var answer hdfsproto.Handshake
	if err := readMessage(cn.in, &answer); err != nil {
		return nil, err
	}
	switch answer.GetStatus() {
	case hdfsproto.Handshake_SUCCESS:
		return &answer, nil
	case hdfsproto.Handshake_ERROR_UNKNOWN_KEY:
		return nil, errUnknownKey
	}
	return nil, &RefusedError{hdfsproto.Status_ERROR_ACCESS_TOKEN, answer.GetMessage()}
}

// encrypt protects the connection with AES. The layer protects only its keys.
func (cn *conn) encrypt(layer sasl.Layer, option *hdfsproto.CipherOption) error {
	if option.GetSuite() != aesCTR {
		return fmt.Errorf("the DataNode chose cipher suite %d, which is not AES/CTR/NoPadding", option.GetSuite())
	}
	// The names are those of the DataNode's side.
	out, err := newCTR(layer, option.GetInKey(), option.GetInIv())
	if err != nil {
		return err
	}
	in, err := newCTR(layer, option.GetOutKey(), option.GetOutIv())
	if err != nil {
		return err
	}
	cn.protect(&encrypted{Conn: cn.Conn, r: cipher.StreamReader{S: in, R: cn.in}, w: cipher.StreamWriter{S: out, W: cn.Conn}})
	return nil
}

func newCTR(layer sasl.Layer, wrappedKey, iv []byte) (cipher.Stream, error) {
	key, err := layer.Unwrap(wrappedKey)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	if len(iv) != block.BlockSize() {
		return nil, errMalformed
	}
	return cipher.NewCTR(block, iv), nil
}

// encrypted is a connection whose bytes are encrypted.
type encrypted struct {
	net.Conn
	r cipher.StreamReader
	w cipher.StreamWriter
}

func (e *encrypted) Read(p []byte) (int, error)  { return e.r.Read(p) }
func (e *encrypted) Write(p []byte) (int, error) { return e.w.Write(p) }

// wrapped is a connection whose bytes are in messages that a layer protects: their length in four bytes, then the
// message.
type wrapped struct {
	net.Conn
	in    io.Reader
	layer sasl.Layer
	buf   []byte
	rest  []byte // unwrapped and not yet read
}

func (w *wrapped) Read(p []byte) (int, error) {
	for len(w.rest) == 0 {
		var head [4]byte
		if _, err := io.ReadFull(w.in, head[:]); err != nil {
			return 0, err
		}
		n := binary.BigEndian.Uint32(head[:])
		if n > maxPacket {
			return 0, errMalformed
		}
		if cap(w.buf) < int(n) {
			w.buf = make([]byte, n)
		}
		if _, err := io.ReadFull(w.in, w.buf[:n]); err != nil {
			return 0, unexpected(err)
		}
		var err error
		if w.rest, err = w.layer.Unwrap(w.buf[:n]); err != nil {
			return 0, err
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

func (w *wrapped) Write(p []byte) (n int, err error) {
	for n < len(p) {
		part := p[n:min(len(p), n+w.layer.MaxPlain())]
		message, err := w.layer.Wrap(part)
		if err != nil {
			return n, err
		}
		message = append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
		if _, err := w.Conn.Write(message); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}
