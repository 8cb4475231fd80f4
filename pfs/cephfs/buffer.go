//go:build ceph

package cephfs

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Bytes are copied through buffers of this package. An abandoned operation may still read or write
// its buffer after its caller has returned and reuses its own memory.

// Limits of the memory for bytes of all files of a store, in transit or waiting. libcephfs takes
// about as much again.
const (
	maxMoving = 8 << 20  // of calls that wait for the cluster
	maxBehind = 24 << 20 // of uploads, gathered to be written later
	maxAhead  = 16 << 20 // read before they are requested
)

// pools hold memory by size, smallest first: for the first look at a file, for a chunk of the
// service, and for a block.
var pools = []*bufferPool{newPool(32 << 10), newPool(256 << 10), newPool(blockSize)}

// poolFor returns the pool for n bytes, at most a block.
func poolFor(n int) *bufferPool {
	i := 0
	for n > pools[i].size {
		i++
	}
	return pools[i]
}

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

// buffer is memory for at most a block.
type buffer struct {
	p      []byte
	full   *[]byte
	from   *bufferPool
	budget *semaphore.Weighted
}

func newBuffer(n int, from *bufferPool, budget *semaphore.Weighted) *buffer {
	full := from.Get().(*[]byte)
	return &buffer{p: (*full)[:n], full: full, from: from, budget: budget}
}

// movingBuffer waits until the budget of moving bytes allows n bytes, and returns memory for them.
func (s *store) movingBuffer(ctx context.Context, n int) (*buffer, error) {
	from := poolFor(n)
	if err := s.moving.Acquire(ctx, int64(from.size)); err != nil {
		return nil, timedOut(ctx)
	}
	return newBuffer(n, from, s.moving), nil
}

// tryBuffer returns memory for a block if the budget has left bytes, which is at least a block;
// otherwise nil.
func tryBuffer(budget *semaphore.Weighted, left int64) *buffer {
	if !budget.TryAcquire(left) {
		return nil
	}
	budget.Release(left - blockSize)
	return newBuffer(blockSize, poolFor(blockSize), budget)
}

// free ends the use of the buffer. After an error its memory is not reused, since the abandoned
// operation may still use it.
func (b *buffer) free(err error) {
	b.budget.Release(int64(b.from.size))
	if err == nil {
		b.from.Put(b.full)
	}
}
