package wire

import (
	"bytes"
	"io"
	"net"
	"testing"
)

// countingConn counts the writes that reach it.
type countingConn struct {
	net.Conn
	got    bytes.Buffer
	writes int
}

func (c *countingConn) Write(p []byte) (int, error) {
	c.writes++
	return c.got.Write(p)
}

func TestCork(t *testing.T) {
	under := &countingConn{}
	c := NewCork(under)
	var want bytes.Buffer
	put := func(n int) {
		p := bytes.Repeat([]byte{byte(n)}, n)
		want.Write(p)
		if k, err := c.Write(p); k != n || err != nil {
			t.Fatalf("Write(%d bytes) = %d, %v", n, k, err)
		}
	}
	put(10)
	c.Hold()
	for range 3 * corkSize / 16000 {
		put(16000)
	}
	put(2*corkSize + 5)
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	put(7)
	if !bytes.Equal(under.got.Bytes(), want.Bytes()) {
		t.Error("the bytes that came out are not those that went in")
	}
	if under.writes > 9 {
		t.Errorf("%d writes reached the connection", under.writes)
	}
}

// failingConn takes nothing.
type failingConn struct{ net.Conn }

func (failingConn) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestCorkTellsErrors(t *testing.T) {
	c := NewCork(failingConn{})
	c.Hold()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Errorf("held back: %v", err)
	}
	if err := c.Release(); err != io.ErrClosedPipe {
		t.Errorf("Release: %v, want the write's error", err)
	}
}
