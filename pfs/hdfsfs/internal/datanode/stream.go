package datanode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
)

const (
	version     = 28
	opReadBlock = 81
)

// DamagedError is the error of a replica that does not match its checksums.
type DamagedError struct {
	Offset int64 // in the block
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the replica does not match its checksums at byte %d of the block", e.Offset)
}

// RefusedError is the error of an operation that a DataNode refuses.
type RefusedError struct {
	Status  hdfsproto.Status
	Message string
}

func (e *RefusedError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("the DataNode refuses: %s", e.Status)
	}
	return fmt.Sprintf("the DataNode refuses: %s: %s", e.Status, e.Message)
}

// Replica is a block on a DataNode.
type Replica struct {
	Address string
	Block   *hdfsproto.ExtendedBlock
	Token   *hdfsproto.Token
}

// Stream reads a range of a replica. One goroutine at a time uses it.
type Stream struct {
	client  *Client
	conn    *conn // nil after the end
	replica Replica
	sums    checksums
	at, end int64 // the bytes of the block that are still to be returned

	header   hdfsproto.PacketHeader
	sumBuf   []byte
	data     []byte // the buffer of rest
	rest     []byte // verified bytes from at on
	received int64  // the end in the block of what was verified
}

// Open asks for n bytes of a replica from off on.
func (c *Client) Open(ctx context.Context, r Replica, off, n int64) (*Stream, error) {
	for {
		cn, used, err := c.connect(ctx, r)
		if err != nil {
			return nil, err
		}
		s := &Stream{client: c, conn: cn, replica: r, at: off, end: off + n}
		err = s.request(ctx)
		if err == nil {
			c.trust(r.Address)
			return s, nil
		}
		s.Close()
		var refused *RefusedError
		if !used || errors.As(err, &refused) || ctx.Err() != nil {
			return nil, err
		}
		// The DataNode may have closed the idle connection. After all idle connections, a new one is used.
	}
}

// request sends the request, and receives the response.
func (s *Stream) request(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.abort(s.conn))
	defer stop()
	if err := s.conn.SetDeadline(time.Now().Add(s.client.opts.Timeout)); err != nil {
		return err
	}
	p, err := appendMessage([]byte{0, version, opReadBlock}, &hdfsproto.OpReadBlock{
		Header: &hdfsproto.OperationHeader{
			Base:       &hdfsproto.BaseHeader{Block: s.replica.Block, Token: s.replica.Token},
			ClientName: &s.client.name,
		},
		Offset: proto.Uint64(uint64(s.at)),
		Length: proto.Uint64(uint64(s.end - s.at)),
	})
	if err != nil {
		return err
	}
	if _, err := s.conn.Write(p); err != nil {
		return err
	}
	var resp hdfsproto.BlockOpResponse
	if err := readMessage(s.conn.in, &resp); err != nil {
		return err
	}
	if resp.GetStatus() != hdfsproto.Status_SUCCESS {
		return &RefusedError{resp.GetStatus(), resp.GetMessage()}
	}
	info := resp.GetReadChecksum()
	if s.sums, err = newChecksums(info.GetChecksum()); err != nil {
		return err
	}
	s.received = int64(info.GetChunkOffset())
	if s.received < 0 || s.received > s.at || s.at-s.received >= int64(s.sums.chunk) {
		return errMalformed // it begins at the chunk of the first byte
	}
	return nil
}

// abort ends the Stream from another goroutine.
func (s *Stream) abort(cn *conn) func() { return func() { cn.Close() } }

// Read fills p with verified bytes, or as much of it as the range has left. After an error the Stream is closed. At the end of the
// range Read returns io.EOF with the last bytes.
func (s *Stream) Read(ctx context.Context, p []byte) (n int, err error) {
	if s.conn == nil {
		return 0, io.EOF
	}
	stop := context.AfterFunc(ctx, s.abort(s.conn))
	defer stop()
	for n < len(p) && s.at < s.end {
		k := copy(p[n:], s.rest)
		if s.rest = s.rest[k:]; k == 0 {
			if k, err = s.packet(p[n:]); err != nil {
				s.Close()
				return n, err
			}
		}
		n, s.at = n+k, s.at+int64(k)
	}
	if s.at < s.end {
		return n, nil
	}
	s.finish(stop)
	return n, io.EOF
}

// packet receives a packet, into p if all of its data is in the range and fits, else into rest. It returns the number of bytes in p.
func (s *Stream) packet(p []byte) (int, error) {
	if err := s.conn.SetReadDeadline(time.Now().Add(s.client.opts.Timeout)); err != nil {
		return 0, err
	}
	n, err := s.packetHead()
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, io.ErrUnexpectedEOF // the replica is shorter than the NameNode says
	}
	if s.received == s.at && n <= len(p) && int64(n) <= s.end-s.at {
		return n, s.packetData(p[:n])
	}
	if cap(s.data) < n {
		s.data = make([]byte, n)
	}
	data, start := s.data[:n], s.received
	if err := s.packetData(data); err != nil {
		return 0, err
	}
	if s.received <= s.at {
		return 0, errMalformed
	}
	s.rest = data[s.at-start : min(int64(n), s.end-start)]
	return 0, nil
}

// finish receives the last packet, which is empty, confirms the bytes, and gives the connection back.
func (s *Stream) finish(stop func() bool) {
	if n, err := s.packetHead(); err != nil || n != 0 || !s.header.GetLast() {
		s.Close()
		return
	}
	p, err := appendMessage(nil, &hdfsproto.ReadStatus{Status: hdfsproto.Status_CHECKSUM_OK.Enum()})
	if err == nil {
		_, err = s.conn.Write(p)
	}
	if err != nil || !stop() {
		s.Close()
		return
	}
	s.client.keep(s.conn)
	s.conn = nil
}

// Close ends the Stream early.
func (s *Stream) Close() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}
