package rpc

import (
	"bufio"
	"fmt"
	"net"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/sasl"
	"google.golang.org/protobuf/proto"
)

// stream is an authenticated connection. Its bytes are protected as agreed in the handshake.
type stream struct {
	net.Conn
	in     *bufio.Reader
	client []byte // the ID
	layer  sasl.Layer

	unread []byte // of the last protected message
}

func (s *stream) Read(p []byte) (int, error) {
	if s.layer == nil {
		return s.in.Read(p)
	}
	for len(s.unread) == 0 {
		frame, err := readFrame(s.in)
		if err != nil {
			return 0, err
		}
		m, err := parseSASL(frame)
		if err != nil {
			// Anybody may have sent it, so it is not taken for an answer.
			return 0, fmt.Errorf("an unprotected message: %s", err.Error())
		}
		if m.GetState() != hdfsproto.Sasl_WRAP {
			return 0, fmt.Errorf("an unprotected message of the state %v", m.GetState())
		}
		if s.unread, err = s.layer.Unwrap(m.GetToken()); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.unread)
	s.unread = s.unread[n:]
	return n, nil
}

func (s *stream) Write(p []byte) (int, error) {
	if s.layer == nil {
		return s.Conn.Write(p)
	}
	var out []byte
	for rest := p; len(rest) > 0; {
		n := min(len(rest), s.layer.MaxPlain())
		token, err := s.layer.Wrap(rest[:n])
		if err != nil {
			return 0, err
		}
		rest = rest[n:]
		out, err = appendSASL(out, s.client, &hdfsproto.Sasl{State: hdfsproto.Sasl_WRAP.Enum(), Token: token})
		if err != nil {
			return 0, err
		}
	}
	if _, err := s.Conn.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// appendSASL appends a message of the handshake, or a protected one.
func appendSASL(b, client []byte, m *hdfsproto.Sasl) ([]byte, error) {
	return appendFrame(b, nil, requestHeader(client, saslID, -1), m)
}

// parseSASL returns the content of such a message. The error is a *RemoteError if the NameNode sent one.
func parseSASL(frame []byte) (*hdfsproto.Sasl, error) {
	h, rest, err := parseResponse(frame)
	if err != nil {
		return nil, err
	}
	if h.GetStatus() != hdfsproto.ResponseHeader_SUCCESS {
		return nil, &RemoteError{Method: "connect", Class: h.GetException(), Text: h.GetMessage()}
	}
	if id := int32(h.GetCallId()); id != saslID {
		return nil, fmt.Errorf("the response has the number %d instead of %d", id, saslID)
	}
	part, _, err := cutPart(rest)
	if err != nil {
		return nil, err
	}
	m := new(hdfsproto.Sasl)
	if err := proto.Unmarshal(part, m); err != nil {
		return nil, fmt.Errorf("the response cannot be decoded: %w", err)
	}
	return m, nil
}
