package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
)

// Content reads a file in the turns of a session.
type Content struct {
	ctx    context.Context
	s      Session
	f      pfs.File
	client *pace.Pace // of the client that gets the bytes, or nil
	off    int64      // of the next Read
	buf    []byte
	at     int64 // of buf
	err    error // of the file
}

// NewContent returns the content of f. ctx is for all its reads.
func NewContent(ctx context.Context, s Session, f pfs.File) *Content {
	return &Content{ctx: ctx, s: s, f: f}
}

// Serve sends the file, or ranges of it, with its entity tag. If the file cannot be read to its end, the answer is not whole:
// the handler panics with http.ErrAbortHandler after the error.
func (c *Content) Serve(w http.ResponseWriter, r *http.Request) error {
	info := c.f.Info()
	w.Header().Set("ETag", ETag(info))
	client := pace.OfAnswer(w, info.Size)
	c.client = &client
	http.ServeContent(w, r, "", info.ModTime, c)
	return c.err
}

// Read reads the next bytes.
func (c *Content) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.off < c.at || c.off >= c.at+int64(len(c.buf)) {
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.buf[c.off-c.at:])
	c.off += int64(n)
	return n, nil
}

// fill reads the next buffer.
func (c *Content) fill() error {
	size := c.f.Info().Size
	if c.off >= size {
		return io.EOF
	}
	if c.buf == nil {
		c.buf = make([]byte, 0, min(Step, size))
	}
	p := c.buf[:min(int64(cap(c.buf)), size-c.off)]
	var n int
	err := c.client.Wait(func() (err error) {
		n, err = ReadAt(c.ctx, c.s, c.f, p, c.off)
		return err
	})
	c.buf, c.at = p[:n], c.off
	switch {
	case n == len(p):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		err = pfs.Errorf("gateway.Content", "", pfs.Integrity, "the file ends at byte %d of %d", c.off+int64(n), size)
	}
	c.err = err
	return err
}

// Seek sets the offset of the next Read.
func (c *Content) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		off += c.off
	case io.SeekEnd:
		off += c.f.Info().Size
	}
	if off < 0 {
		return 0, pfs.Errorf("gateway.Content", "", pfs.Invalid, "offset %d", off)
	}
	c.off = off
	return off, nil
}
