package hdfsfs

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// newTestSession is a session without a client.
func newTestSession() *session {
	s := &session{cluster: &cluster{nameNodes: rpc.NewServers([]string{"nn"})}, conns: map[net.Conn]bool{}}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// TestCallOverIsNotAborted gives up no session for a call that has ended: the next one
// may have it already.
func TestCallOverIsNotAborted(t *testing.T) {
	for range 200 {
		s := newTestSession()
		ctx, cancel := context.WithCancel(t.Context())
		must(t, s.do(ctx, time.Minute, func() error {
			cancel()
			return nil
		}))
		before := s.usable()
		time.Sleep(time.Millisecond)
		if after := s.usable(); before && !after {
			t.Fatal("a session was given up after its call")
		}
		s.close()
	}
}

// TestCloseBlamesNobody closes a session that waits for an answer, as of the call that
// renews leases, without taking that for a failure of the NameNode.
func TestCloseBlamesNobody(t *testing.T) {
	s := newTestSession()
	here, there := net.Pipe()
	defer there.Close()
	must(t, s.keep(here, false))
	c := &nameConn{Conn: here, s: s, address: "nn"}
	began, read := time.Now(), make(chan error)
	go func() {
		_, err := c.Read(make([]byte, 1))
		read <- err
	}()
	s.close()
	if err := <-read; err == nil {
		t.Error("the connection is open")
	}
	if _, err := c.Write([]byte("x")); err == nil {
		t.Error("something is sent over a session that is closed")
	}
	if s.cluster.nameNodes.FailedSince("nn", began.Add(-time.Second)) {
		t.Error("the NameNode is taken for one that failed")
	}
}

// TestRefusedBeforeTheRequest meets a NameNode that asks for a ticket and ends the
// connection before the request is sent: its words are what counts, not the broken pipe.
func TestRefusedBeforeTheRequest(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	over := make(chan error, 1)
	go func() {
		over <- func() error {
			conn, err := l.Accept()
			if err != nil {
				return err
			}
			defer conn.Close()
			if _, err := io.ReadFull(conn, make([]byte, 7)); err != nil {
				return err
			}
			_, err = conn.Write([]byte("\x00\x00\x00\x40SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]"))
			return err
		}()
	}()
	s := newTestSession()
	defer s.close()
	err = s.do(t.Context(), time.Minute, func() error {
		conn, err := s.dialNameNode(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			return err
		}
		if _, err := conn.Write([]byte("hrpc\x09\x00\x00")); err != nil {
			return err
		}
		if err := <-over; err != nil {
			return err
		}
		for err == nil { // until the other side's end is known here
			_, err = conn.Write([]byte("request"))
		}
		return err
	})
	pfstest.WantKind(t, err, pfs.Unauthenticated)
}
