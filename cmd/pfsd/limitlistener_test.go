package main

import (
	"errors"
	"net"
	"testing"
)

func TestLimitListener(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newLimitListener(inner, 1, 0)
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	dial()
	dial()
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if len(l.slots) != 1 {
		t.Fatalf("%d slots in use, want 1", len(l.slots))
	}
	second := make(chan net.Conn)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		second <- c
	}()
	select {
	case <-second:
		t.Fatal("a second connection was accepted beyond the limit")
	default:
	}
	first.Close()
	first.Close() // frees its slot once
	c := <-second
	if len(l.slots) != 1 {
		t.Errorf("%d slots in use, want 1", len(l.slots))
	}
	ended := make(chan error)
	go func() {
		_, err := l.Accept()
		ended <- err
	}()
	l.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}
	c.Close()
}

// from is a connection of an address.
type from struct {
	net.Conn
	address string
}

func (f from) RemoteAddr() net.Addr { return namedAddr(f.address) }

type namedAddr string

func (namedAddr) Network() string  { return "tcp" }
func (a namedAddr) String() string { return string(a) }

// queue accepts connections of these addresses.
type queue struct {
	net.Listener
	addresses []string
}

func (q *queue) Accept() (net.Conn, error) {
	if len(q.addresses) == 0 {
		return nil, net.ErrClosed
	}
	address := q.addresses[0]
	q.addresses = q.addresses[1:]
	here, there := net.Pipe()
	go func() {
		_, _ = there.Read(make([]byte, 1)) // until it is closed
	}()
	return from{here, address}, nil
}

func TestOneAddressHasAShareOfTheConnections(t *testing.T) {
	l := newLimitListener(&queue{addresses: []string{"1.1.1.1:1", "1.1.1.1:2", "1.1.1.1:3", "2.2.2.2:1", "1.1.1.1:4"}}, 10, 2)
	var conns []net.Conn
	for range 3 {
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	if got := conns[2].RemoteAddr().String(); got != "2.2.2.2:1" {
		t.Errorf("the third connection is of %s: one address has more than its share", got)
	}
	conns[0].Close()
	conns[0].Close()
	c, err := l.Accept()
	if err != nil || c.RemoteAddr().String() != "1.1.1.1:4" {
		t.Errorf("after one was closed: %v, %v", c, err)
	}
	if len(l.slots) != 3 || l.held["1.1.1.1"] != 2 || l.held["2.2.2.2"] != 1 {
		t.Errorf("%d slots in use by %v", len(l.slots), l.held)
	}
}
