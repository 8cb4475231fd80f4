package main

import (
	"net"
	"sync"
)

// limitListener accepts a limited number of connections at a time; more wait in the kernel's queue.
// An address gets no more than a share, so that it cannot take all of them; it closes further
// connections.
type limitListener struct {
	net.Listener
	slots  chan struct{}
	share  int // 0: no limit
	closed chan struct{}
	once   sync.Once

	mu   sync.Mutex
	held map[string]int // connections by address
}

func newLimitListener(l net.Listener, most, share int) *limitListener {
	return &limitListener{
		Listener: l, slots: make(chan struct{}, most), share: share, closed: make(chan struct{}), held: map[string]int{},
	}
}

// Accept waits for a free slot, then for a connection.
func (l *limitListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			<-l.slots
			return nil, err
		}
		from := hostOf(c.RemoteAddr())
		if l.enter(from) {
			return &limitedConn{Conn: c, free: sync.OnceFunc(func() { l.leave(from) })}, nil
		}
		c.Close()
	}
}

// enter counts a connection from an address, unless its share is exhausted.
func (l *limitListener) enter(from string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.share > 0 && l.held[from] >= l.share {
		return false
	}
	l.held[from]++
	return true
}

func (l *limitListener) leave(from string) {
	l.mu.Lock()
	if l.held[from]--; l.held[from] == 0 {
		delete(l.held, from)
	}
	l.mu.Unlock()
	<-l.slots
}

func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

// Close also ends an Accept that waits for a slot.
func (l *limitListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// limitedConn frees its slot when it is closed.
type limitedConn struct {
	net.Conn
	free func()
}

func (c *limitedConn) Close() error {
	defer c.free()
	return c.Conn.Close()
}
