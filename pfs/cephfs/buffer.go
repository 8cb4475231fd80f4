//go:build ceph

package cephfs

import (
	"context"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// Bytes move through buffers of this package's own: an operation that was abandoned may still
// read from its buffer or write to it, when its caller uses his for something else long since.

// smallBuffer is what most pieces fit into that a service moves.
const smallBuffer = 256 << 10

var smallBuffers, largeBuffers = pool(smallBuffer), pool(pfs.ChunkSize)

func pool(size int) *sync.Pool {
	return &sync.Pool{New: func() any {
		p := make([]byte, size)
		return &p
	}}
}

// buffer is memory for one piece on its way.
type buffer struct {
	s    *store
	p    []byte
	full *[]byte
	from *sync.Pool
}

// buffer returns memory for n bytes, at most a chunk, once so much may be on its way.
func (s *store) buffer(ctx context.Context, n int) (*buffer, error) {
	from := largeBuffers
	if n <= smallBuffer {
		from = smallBuffers
	}
	if err := s.moving.Acquire(ctx, int64(n)); err != nil {
		return nil, timedOut(ctx)
	}
	full := from.Get().(*[]byte)
	return &buffer{s: s, p: (*full)[:n], full: full, from: from}, nil
}

// free ends the use of the buffer. After an operation that failed, and may have been abandoned, the
// memory is left to whoever still uses it.
func (b *buffer) free(err error) {
	b.s.moving.Release(int64(len(b.p)))
	if err == nil {
		b.from.Put(b.full)
	}
}
