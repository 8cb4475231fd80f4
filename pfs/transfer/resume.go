package transfer

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// staging is the state of the leaves [first, first+len) of an upload that an earlier attempt left.
type staging struct {
	first int64
	asked bool             // whether the target returned digests
	have  []pfs.LeafDigest // digests from the target, if asked
	noted []pfs.LeafDigest // digests of the source in the journal; zero where missing
}

// lookUp asks the target about the leaves [first, end). Without an answer the leaves
// are read back when their turn comes.
func (p *pass) lookUp(ctx context.Context, first, end int64) (*staging, error) {
	s := &staging{first: first}
	if p.noted {
		s.noted = p.log.read(ctx, first, end)
	}
	c, ok := p.staged.(pfs.LeafDigester)
	for ok && first+int64(len(s.have)) < end {
		at := first + int64(len(s.have))
		var ds []pfs.LeafDigest
		err := p.j.retry(ctx, p.name, func(ctx context.Context) (err error) {
			ds, err = c.LeafDigests(ctx, p.info.Size, at, int(end-at))
			return err
		})
		switch {
		case errors.Is(err, pfs.Unsupported):
			return s, nil
		case err != nil:
			return nil, &endError{err: err}
		}
		s.asked = true
		s.have = append(s.have, ds...)
		ok = len(ds) > 0
	}
	return s, nil
}

// holds reports whether the target has all leaves [first, end) of an upload unit. l keeps the leaf
// of the source that was read last.
func (p *pass) holds(ctx context.Context, s *staging, l *leafBuffer, first, end int64) (bool, error) {
	digests := make([]pfs.LeafDigest, 0, end-first)
	for i := first; i < end; i++ {
		d, ok, err := s.leaf(ctx, l, i)
		if !ok || err != nil {
			return false, err
		}
		digests = append(digests, d)
	}
	for k, d := range digests {
		_, n := p.bounds(first + int64(k))
		p.account(int64(n), true)
		p.finish(ctx, first+int64(k), d)
	}
	return true, nil
}

// leaf returns the digest of leaf i, if the staged leaf equals the source.
func (s *staging) leaf(ctx context.Context, l *leafBuffer, i int64) (d pfs.LeafDigest, ok bool, err error) {
	if d, ok = s.staged(ctx, l, i); !ok {
		return d, false, nil
	}
	if k := i - s.first; k < int64(len(s.noted)) && s.noted[k] == d {
		return d, true, nil
	}
	if err := l.load(ctx, i); err != nil {
		return d, false, err
	}
	return d, l.digest == d, nil
}

// staged returns the digest of the staged leaf i.
func (s *staging) staged(ctx context.Context, l *leafBuffer, i int64) (d pfs.LeafDigest, ok bool) {
	if s.asked {
		if k := i - s.first; k < int64(len(s.have)) {
			return s.have[k], true
		}
		return d, false
	}
	off, n := l.pass.bounds(i)
	l.at = -1 // the buffer is overwritten
	if !readBack(ctx, l.pass.staged, l.buf[:n], off) {
		return d, false
	}
	return digest.Leaf(l.buf[:n]), true
}

// readBack fills p with staged bytes from off on and reports whether there were enough.
// After an error of reading it reports false, so that the bytes are sent again.
func readBack(ctx context.Context, w pfs.Staged, p []byte, off int64) bool {
	if off > math.MaxInt64-int64(len(p)) {
		return false
	}
	for len(p) > 0 {
		n, err := w.ReadAt(ctx, p, off)
		p, off = p[n:], off+int64(n)
		if err != nil && (err != io.EOF || len(p) > 0) {
			return false
		}
	}
	return true
}
