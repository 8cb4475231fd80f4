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

// body is a chunk that counts how it is taken.
type body struct {
	*ChunkReader
	reads int
}

func (b *body) Read(p []byte) (int, error) {
	b.reads++
	return b.ChunkReader.Read(p)
}

func TestABodyOfStatedLengthWritesItself(t *testing.T) {
	p := bytes.Repeat([]byte("0123456789"), 100_000)
	want, _ := io.ReadAll(NewChunkReader(p))
	for _, stated := range []int64{int64(len(want)), int64(len(want)) - 1} {
		under := &countingConn{}
		c := &CorkedConn{Conn: under, Cork: NewCork(under)}
		b := &body{ChunkReader: NewChunkReader(p)}
		limited := &io.LimitedReader{R: b, N: stated}
		n, err := c.ReadFrom(limited)
		if n != stated || err != nil || limited.N != 0 || !bytes.Equal(under.got.Bytes(), want[:stated]) {
			t.Errorf("%d bytes, %v, %d left to send of %d", n, err, limited.N, stated)
		}
		if whole := stated == int64(len(want)); whole != (b.reads == 0) {
			t.Errorf("%d of %d bytes took %d reads", stated, len(want), b.reads)
		}
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
