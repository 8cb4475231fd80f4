package convert

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
)

// readStep is how much memory is allocated at a time for a length that only the input states.
const readStep = 1 << 20

// counter reads an input in order and counts its bytes.
type counter struct {
	r   *bufio.Reader
	off int64 // bytes read so far
}

func newCounter(r io.Reader) *counter { return &counter{r: bufio.NewReaderSize(r, 64<<10)} }

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.off += int64(n)
	return n, err
}

func (c *counter) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.off++
	}
	return b, err
}

// appendFrom appends the next n bytes of r to dst, which grows as they arrive: a hostile n takes no
// more than about twice the bytes that r has. At the end of r it returns io.EOF if there were none,
// and otherwise io.ErrUnexpectedEOF.
func appendFrom(r io.Reader, dst []byte, n int) ([]byte, error) {
	for start := len(dst); len(dst)-start < n; {
		done := len(dst) - start
		k := min(n-done, max(readStep, done))
		dst = slices.Grow(dst, k)
		m, err := io.ReadFull(r, dst[len(dst):len(dst)+k])
		dst = dst[:len(dst)+m]
		if err == io.EOF && done > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// take reads exactly n bytes into the space of dst. It returns io.EOF only if the input ends before
// the first byte; what names the bytes in errors.
func (c *counter) take(dst []byte, n int, what string) ([]byte, error) {
	dst, err := appendFrom(c, dst[:0], n)
	if err != nil && err != io.EOF {
		err = c.failed(err, what)
	}
	return dst, err
}

// need is take for mandatory bytes: the end of the input is an error, too.
func (c *counter) need(dst []byte, n int, what string) ([]byte, error) {
	dst, err := c.take(dst, n, what)
	if err == io.EOF {
		err = c.failed(err, what)
	}
	return dst, err
}

// skip discards n bytes.
func (c *counter) skip(n int64, what string) error {
	_, err := io.CopyN(io.Discard, c, n)
	if err != nil {
		return c.failed(err, what)
	}
	return nil
}

// ended returns an error unless the input ends here.
func (c *counter) ended(what string) error {
	_, err := c.r.Peek(1)
	switch {
	case err == io.EOF:
		return nil
	case err != nil:
		return c.failed(err, "what follows "+what)
	}
	return faultf(ErrSyntax, "the input continues after the end of %s, at offset %d", what, c.off)
}

// failed adds the position to an error of reading what.
func (c *counter) failed(err error, what string) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return faultf(ErrTruncated, "the input ends at offset %d, in the middle of %s", c.off, what)
	}
	return fmt.Errorf("read %s at offset %d: %w", what, c.off, err)
}
