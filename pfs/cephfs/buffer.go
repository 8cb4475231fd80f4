//go:build ceph

package cephfs

import (
	"context"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// Bytes move through buffers of this package's own: an operation that was abandoned may still
// read from its buffer or write to it, when its caller uses his for something else long since.

// buffers are pools of memory by size, the smallest first: the piece that a service moves, the block
// that is read ahead, the chunk.
var buffers = []*bufferPool{newPool(256 << 10), newPool(aheadSize), newPool(pfs.ChunkSize)}

type bufferPool struct {
	size int
	sync.Pool
}

func newPool(size int) *bufferPool {
	return &bufferPool{size: size, Pool: sync.Pool{New: func() any {
		p := make([]byte, size)
		return &p
	}}}
}

// poolFor returns the pool whose memory holds n bytes, at most a chunk.
func poolFor(n int) *bufferPool {
	for _, p := range buffers[:len(buffers)-1] {
		if n <= p.size {
			return p
		}
	}
	return buffers[len(buffers)-1]
}

// buffer is memory for one piece on its way.
type buffer struct {
	s    *store
	p    []byte
	full *[]byte
	from *bufferPool
}

// buffer returns memory for n bytes, at most a chunk, once so much may be on its way.
func (s *store) buffer(ctx context.Context, n int) (*buffer, error) {
	from := poolFor(n)
	if err := s.moving.Acquire(ctx, int64(from.size)); err != nil {
		return nil, timedOut(ctx)
	}
	full := from.Get().(*[]byte)
	return &buffer{s: s, p: (*full)[:n], full: full, from: from}, nil
}

// free ends the use of the buffer. After an operation that failed, and may have been abandoned, the
// memory is left to whoever still uses it.
func (b *buffer) free(err error) {
	b.s.moving.Release(int64(b.from.size))
	if err == nil {
		b.from.Put(b.full)
	}
}
