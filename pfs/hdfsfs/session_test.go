package hdfsfs

import (
	"context"
	"net"
	"testing"
	"time"
)

// newTestSession is a session without a client.
func newTestSession() *session {
	s := &session{cluster: &cluster{nameNodes: newNameNodes([]string{"nn"})}, conns: map[net.Conn]bool{}}
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
	if s.cluster.nameNodes.failedSince("nn", began.Add(-time.Second)) {
		t.Error("the NameNode is taken for one that failed")
	}
}
