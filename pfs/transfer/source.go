package transfer

import (
	"context"
	"io"

	"github.com/paddlecloud/pfs/pfs"
)

// source reads an io.Reader in a separate goroutine, because a context cannot stop Read.
type source struct {
	ask chan []byte
	got chan readResult
}

type readResult struct {
	n   int
	end bool // of the stream
	err error
}

// newSource begins to serve reads of r, until ask is closed.
func newSource(r io.Reader) *source {
	s := &source{ask: make(chan []byte), got: make(chan readResult, 1)}
	go func() {
		for p := range s.ask {
			var got readResult
			if err := pfs.Guard("transfer.FromReader", "", func() error {
				got = fill(r, p)
				return nil
			}); err != nil {
				got.err = err
			}
			s.got <- got
		}
	}()
	return s
}

// fill reads until p is full, or the stream ends or fails. Unlike io.ReadFull it does
// not take io.ErrUnexpectedEOF of the stream for its end: such a stream was cut off.
func fill(r io.Reader, p []byte) (res readResult) {
	for res.n < len(p) {
		n, err := r.Read(p[res.n:])
		res.n += n
		if err == io.EOF {
			res.end = true
			return res
		}
		if err != nil {
			res.err = err
			return res
		}
	}
	return res
}

// read fills p, or less at the end of the stream. If ctx is done first, the reader
// keeps p.
func (s *source) read(ctx context.Context, p []byte) (n int, end bool, err error) {
	s.ask <- p
	select {
	case r := <-s.got:
		return r.n, r.end, r.err
	case <-ctx.Done():
		return 0, false, pfs.CheckContext(ctx, "transfer.FromReader", "")
	}
}
