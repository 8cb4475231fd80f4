package rpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Numbers of messages that are not calls.
const (
	contextID = -3
	saslID    = -33
)

// maxFrame is the longest message that is received.
const maxFrame = 64 << 20

// ErrTooLong is the error of a longer response. Responses of servers other than NameNodes often look so.
var ErrTooLong = errors.New("the response is too long")

// appendFrame appends a message: its length and its parts, each with a length of its own. body is an
// encoded part, or nil.
func appendFrame(b, body []byte, parts ...proto.Message) ([]byte, error) {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	var err error
	for _, m := range parts {
		b = protowire.AppendVarint(b, uint64(proto.Size(m)))
		if b, err = (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend(b, m); err != nil {
			return nil, err
		}
	}
	if body != nil {
		b = protowire.AppendBytes(b, body)
	}
	n := len(b) - start - 4
	if n > maxFrame {
		return nil, fmt.Errorf("a message of %d bytes is too long", n)
	}
	binary.BigEndian.PutUint32(b[start:], uint32(n))
	return b, nil
}

// requestHeader returns the header of a message of the client.
func requestHeader(client []byte, id, retries int32) *hdfsproto.RequestHeader {
	return &hdfsproto.RequestHeader{
		Kind:       hdfsproto.RequestHeader_PROTOCOL_BUFFER.Enum(),
		Operation:  proto.Int32(0),
		CallId:     proto.Int32(id),
		ClientId:   client,
		RetryCount: proto.Int32(retries),
	}
}

// readFrame reads a message. Memory grows only with what arrives.
func readFrame(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxFrame {
		return nil, fmt.Errorf("%w: it has %d bytes, more than %d", ErrTooLong, n, maxFrame)
	}
	const trusted = 64 << 10
	if n <= trusted {
		p := make([]byte, n)
		_, err := io.ReadFull(r, p)
		return p, broken(err)
	}
	var b bytes.Buffer
	_, err := io.CopyN(&b, r, int64(n))
	return b.Bytes(), broken(err)
}

// broken turns an end in the middle of a message into an error.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// cutPart returns the first part of a message, and the rest.
func cutPart(p []byte) (part, rest []byte, err error) {
	part, n := protowire.ConsumeBytes(p)
	if n < 0 {
		return nil, nil, fmt.Errorf("a response cannot be decoded: %w", protowire.ParseError(n))
	}
	return part, p[n:], nil
}

// parseResponse returns the header of a response, and the rest.
func parseResponse(p []byte) (*hdfsproto.ResponseHeader, []byte, error) {
	part, rest, err := cutPart(p)
	if err != nil {
		return nil, nil, err
	}
	h := new(hdfsproto.ResponseHeader)
	if err := proto.Unmarshal(part, h); err != nil {
		return nil, nil, fmt.Errorf("the header of a response cannot be decoded: %w", err)
	}
	return h, rest, nil
}
