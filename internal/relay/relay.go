// Package relay is a TCP proxy for tests: it stands between two programs and corrupts, cuts or delays their
// connections.
package relay

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Spoil is called with the bytes of one direction of connection number conn (from 1), in order. It
// may change them, and returns false to cut the connection. It is called concurrently.
type Spoil func(conn int, p []byte) bool

// Relay accepts connections until the test ends.
type Relay struct {
	listener net.Listener
	target   func() string
	spoil    Spoil
	delay    time.Duration
	conns    atomic.Int64
}

// New returns a Relay that forwards each connection to the address that target returns.
func New(t testing.TB, target func() string, spoil Spoil) *Relay {
	t.Helper()
	return start(t, "127.0.0.1:0", &Relay{target: target, spoil: spoil})
}

// At returns a Relay that listens at an address and forwards to another one.
func At(t testing.TB, address, target string) *Relay {
	t.Helper()
	return start(t, address, &Relay{target: func() string { return target }, spoil: pass})
}

func pass(int, []byte) bool { return true }

// Distant returns a Relay that forwards bytes after a delay, in each direction, and does not limit their rate.
func Distant(t testing.TB, target func() string, delay time.Duration) *Relay {
	t.Helper()
	return start(t, "127.0.0.1:0", &Relay{target: target, spoil: pass, delay: delay})
}

func start(t testing.TB, address string, r *Relay) *Relay {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	r.listener = l
	go r.accept()
	return r
}

// Address returns the Relay's address, as host:port.
func (r *Relay) Address() string { return r.listener.Addr().String() }

// Connections returns the number of connections so far.
func (r *Relay) Connections() int { return int(r.conns.Load()) }

func (r *Relay) accept() {
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return
		}
		go r.serve(c)
	}
}

// serve forwards bytes both ways until one side ends or the connection is cut.
func (r *Relay) serve(c net.Conn) {
	defer c.Close()
	s, err := net.Dial("tcp", r.target())
	if err != nil {
		return
	}
	defer s.Close()
	n := int(r.conns.Add(1))
	var ways sync.WaitGroup
	for _, way := range [][2]net.Conn{{s, c}, {c, s}} {
		ways.Go(func() {
			defer c.Close()
			defer s.Close()
			to := io.Writer(way[0])
			if r.delay > 0 {
				later := newLater(way[0], r.delay)
				defer later.close()
				to = later
			}
			r.pass(n, to, way[1])
		})
	}
	ways.Wait()
}

func (r *Relay) pass(conn int, to io.Writer, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !r.spoil(conn, buf[:n]) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// later delays writes.
type later struct {
	parts chan part
	delay time.Duration
	ended chan struct{}
}

type part struct {
	due  time.Time
	data []byte
}

func newLater(to io.Writer, delay time.Duration) *later {
	l := &later{parts: make(chan part, 4096), delay: delay, ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		failed := false
		for p := range l.parts {
			if failed {
				continue
			}
			time.Sleep(time.Until(p.due))
			_, err := to.Write(p.data)
			failed = err != nil
		}
	}()
	return l
}

func (l *later) Write(p []byte) (int, error) {
	l.parts <- part{time.Now().Add(l.delay), bytes.Clone(p)}
	return len(p), nil
}

// close waits until everything is written.
func (l *later) close() {
	close(l.parts)
	<-l.ended
}
