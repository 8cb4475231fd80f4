package rpc

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
)

// nameNode is a NameNode of a test, which does as the test says.
type nameNode struct {
	address string
	conns   atomic.Int32 // that were accepted
}

// fakeConn is a connection to a nameNode.
type fakeConn struct {
	net.Conn
	t  testing.TB
	in *bufio.Reader
}

// request is a call that a nameNode received.
type request struct {
	header *hdfsproto.RequestHeader
	method string
	path   string // of a GetBlockLocationsRequest
}

// fake starts a NameNode that serves each connection with serve.
func fake(t testing.TB, serve func(c *fakeConn)) *nameNode {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	n := &nameNode{address: l.Addr().String()}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			n.conns.Add(1)
			go func() {
				defer conn.Close()
				serve(&fakeConn{conn, t, bufio.NewReader(conn)})
			}()
		}
	}()
	return n
}

// answering serves a connection of a client: it authenticates it and answers each call.
func answering(answer func(c *fakeConn, r request)) func(c *fakeConn) {
	return func(c *fakeConn) {
		if c.open(&hdfsproto.Sasl{State: hdfsproto.Sasl_SUCCESS.Enum()}) == nil {
			return
		}
		for {
			r, ok := c.next()
			if !ok {
				return
			}
			answer(c, r)
		}
	}
}

// open takes the first messages of a client and offers it what it says. It returns the context that the client
// sent; nil if the client ended the connection.
func (c *fakeConn) open(offer *hdfsproto.Sasl) *hdfsproto.ConnectionContext {
	got := make([]byte, len(preamble))
	if _, err := io.ReadFull(c.in, got); err != nil || string(got) != preamble {
		return nil
	}
	if _, err := readFrame(c.in); err != nil {
		return nil
	}
	c.send(&hdfsproto.ResponseHeader{CallId: proto.Uint32(0xffffffdf), Status: hdfsproto.ResponseHeader_SUCCESS.Enum()}, offer)
	frame, err := readFrame(c.in)
	if err != nil {
		return nil
	}
	context := new(hdfsproto.ConnectionContext)
	_, rest, err := cutPart(frame)
	if err == nil {
		err = decode(rest, context)
	}
	if err != nil {
		c.t.Errorf("the context of a connection: %v", err)
		return nil
	}
	return context
}

// next returns the next call; false if there is none.
func (c *fakeConn) next() (r request, ok bool) {
	frame, err := readFrame(c.in)
	if err != nil {
		return r, false
	}
	r.header = new(hdfsproto.RequestHeader)
	header, call, body := new(hdfsproto.CallHeader), []byte(nil), new(hdfsproto.GetBlockLocationsRequest)
	part, rest, err := cutPart(frame)
	if err == nil {
		err = proto.Unmarshal(part, r.header)
	}
	if err == nil {
		call, rest, err = cutPart(rest)
	}
	if err == nil {
		err = proto.Unmarshal(call, header)
	}
	if err == nil {
		err = decode(rest, body)
	}
	if err != nil || header.GetProtocol() != protocol || header.GetVersion() != 1 || len(r.header.GetClientId()) != 16 {
		c.t.Errorf("a call cannot be decoded: %v", err)
		return r, false
	}
	r.method, r.path = header.GetMethod(), body.GetPath()
	return r, true
}

func (c *fakeConn) send(parts ...proto.Message) {
	frame, err := appendFrame(nil, nil, parts...)
	if err != nil {
		c.t.Error(err)
	}
	_, _ = c.Write(frame) // a client that has gone is the test's business
}

// answer answers a call with a file of this length.
func (c *fakeConn) answer(id int32, length uint64) {
	c.send(&hdfsproto.ResponseHeader{CallId: proto.Uint32(uint32(id)), Status: hdfsproto.ResponseHeader_SUCCESS.Enum()},
		&hdfsproto.GetBlockLocationsResponse{Locations: &hdfsproto.LocatedBlocks{
			FileLength: proto.Uint64(length), UnderConstruction: proto.Bool(false), LastBlockComplete: proto.Bool(true),
		}})
}

// fail answers a call with an exception.
func (c *fakeConn) fail(id int32, status hdfsproto.ResponseHeader_Status, class, text string) {
	c.send(&hdfsproto.ResponseHeader{CallId: proto.Uint32(uint32(id)), Status: status.Enum(), Exception: &class, Message: &text})
}

// sendLength sends the length of a message that does not follow.
func (c *fakeConn) sendLength(n uint32) { _, _ = c.Write(binary.BigEndian.AppendUint32(nil, n)) }
