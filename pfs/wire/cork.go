package wire

import (
	"io"
	"net"
	"sync"
)

// corkSize is how many bytes are gathered before they go to the kernel. TLS makes records of 16 KiB
// and writes each separately; gathered, a chunk takes a sixteenth of the system calls.
const corkSize = 256 << 10

// Cork is a connection that can gather writes. It is below TLS.
type Cork struct {
	net.Conn

	mu  sync.Mutex
	buf *[corkSize]byte // nil while the cork is off
	n   int             // number of bytes held back
	err error           // error of writing bytes that were held back
}

var corkBuffers = sync.Pool{New: func() any { return new([corkSize]byte) }}

// NewCork returns c with the cork off.
func NewCork(c net.Conn) *Cork { return &Cork{Conn: c} }

// Write writes p, or buffers it while the cork is on.
func (c *Cork) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.buf == nil {
		return c.Conn.Write(p)
	}
	for rest := p; len(rest) > 0; {
		if c.n == corkSize {
			c.flush()
		}
		if c.err != nil {
			return 0, c.err
		}
		k := copy(c.buf[c.n:], rest)
		c.n, rest = c.n+k, rest[k:]
	}
	return len(p), nil
}

// flush writes the buffered bytes. c.mu is held.
func (c *Cork) flush() {
	if c.err == nil && c.n > 0 {
		_, c.err = c.Conn.Write(c.buf[:c.n])
	}
	c.n = 0
}

// Hold starts gathering writes. Every Hold needs its Release.
func (c *Cork) Hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.buf == nil {
		c.buf = corkBuffers.Get().(*[corkSize]byte)
	}
}

// Release writes the buffered bytes and returns its error. The buffer returns to the pool, so an
// idle connection holds none.
func (c *Cork) Release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.buf != nil {
		c.flush()
		corkBuffers.Put(c.buf)
		c.buf = nil
	}
	return c.err
}

// CorkListener accepts connections that are Corks.
type CorkListener struct{ net.Listener }

// Accept accepts the next connection.
func (l CorkListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return NewCork(c), nil
}

// CorkedConn is a connection (usually TLS) over a Cork, which it holds while io.Copy writes a body
// to it.
type CorkedConn struct {
	net.Conn
	Cork *Cork
}

// ReadFrom copies r to the connection in few writes.
func (c *CorkedConn) ReadFrom(r io.Reader) (int64, error) {
	c.Cork.Hold()
	n, err := c.copy(r)
	if rerr := c.Cork.Release(); err == nil {
		err = rerr
	}
	return n, err
}

func (c *CorkedConn) copy(r io.Reader) (int64, error) {
	// net/http passes a body of known length as a LimitedReader, which hides the body's WriteTo.
	if l, ok := r.(*io.LimitedReader); ok {
		if b, ok := l.R.(SelfWriter); ok && b.Len() == l.N {
			n, err := b.WriteTo(c.Conn)
			l.N -= n
			return n, err
		}
	}
	buf := copyBuffers.Get().(*[piece]byte)
	defer copyBuffers.Put(buf)
	// The struct hides c's ReadFrom from io.CopyBuffer.
	return io.CopyBuffer(struct{ io.Writer }{c.Conn}, r, buf[:])
}

// SelfWriter is a body that is written without a copy. Len is the number of bytes that WriteTo will
// write.
type SelfWriter interface {
	io.WriterTo
	Len() int64
}

var copyBuffers = sync.Pool{New: func() any { return new([piece]byte) }}
