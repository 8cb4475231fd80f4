package faults

import (
	"net"
	"sync"
	"testing"
)

// relay is a TCP proxy between client and service that can be made to cut connections
// or flip bits.
type relay struct {
	l      net.Listener
	target func() string

	mu    sync.Mutex
	every int  // bytes between faults; 0 means none
	flip  bool // flip a bit instead of cutting
	since int  // bytes since the last fault
}

func newRelay(t *testing.T, target func() string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	r := &relay{l: l, target: target}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.serve(c)
		}
	}()
	return r
}

func (r *relay) address() string { return r.l.Addr().String() }

// trouble makes a fault after each every bytes, from now on.
func (r *relay) trouble(every int, flip bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.every, r.flip, r.since = max(every, 256<<10), flip, 0
}

// calm ends the trouble.
func (r *relay) calm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.every = 0
}

// spoil does to p what is due, and reports whether the connection lives.
func (r *relay) spoil(p []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.every == 0 {
		return true
	}
	if r.since += len(p); r.since < r.every {
		return true
	}
	r.since = 0
	if r.flip {
		p[len(p)/2] ^= 1
		return true
	}
	return false
}

func (r *relay) serve(c net.Conn) {
	defer c.Close()
	s, err := net.Dial("tcp", r.target())
	if err != nil {
		return
	}
	defer s.Close()
	var wg sync.WaitGroup
	pass := func(to, from net.Conn) {
		defer to.Close()
		defer from.Close()
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 && r.spoil(buf[:n]) {
				if _, err := to.Write(buf[:n]); err != nil {
					return
				}
			} else if n > 0 {
				return
			}
			if err != nil {
				return
			}
		}
	}
	wg.Go(func() { pass(s, c) })
	wg.Go(func() { pass(c, s) })
	wg.Wait()
}
