package convert

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// gzipMagic begins a member of gzip.
var gzipMagic = []byte{0x1f, 0x8b, 8}

func isGzip(head []byte) bool { return bytes.HasPrefix(head, gzipMagic) }

// gzipMembers reads a gzip file, which must consist of members only.
type gzipMembers struct {
	*gzip.Reader
	b    *bufio.Reader
	read *counted // below b
}

func openGzip(b *bufio.Reader, read *counted) (io.ReadCloser, error) {
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &gzipMembers{Reader: z, b: b, read: read}, nil
}

func (m *gzipMembers) Read(p []byte) (n int, err error) {
	for n == 0 {
		if n, err = m.Reader.Read(p); err != io.EOF {
			return n, err
		}
		if err = m.next(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// next starts the next member; it returns io.EOF after the last.
func (m *gzipMembers) next() error {
	head, err := m.b.Peek(len(gzipMagic))
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case len(head) == 0:
		return io.EOF
	case !bytes.HasPrefix(gzipMagic, head):
		more, _ := m.b.Peek(16)
		return faultf(ErrDamaged, "the compressed data ends at byte %d of the file, and something else follows: %s", m.read.done-int64(m.b.Buffered()), clip(more))
	}
	if err := m.Reader.Reset(m.b); err != nil {
		return err
	}
	m.Reader.Multistream(false)
	return nil
}
