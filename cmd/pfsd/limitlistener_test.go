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
	l := newLimitListener(inner, 1)
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
