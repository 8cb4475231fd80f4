//go:build ceph

package cephfs

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Bytes are copied through buffers of this package. An abandoned operation may go on reading from its buffer, or
// writing to it, after its caller has returned and uses its own memory for something else.

// Bounds of the memory in which all files of a store have bytes, on their way or waiting. libcephfs takes about
// as much again.
const (
	maxMoving = 8 << 20  // of calls that wait for the cluster
	maxBehind = 24 << 20 // of staged writes, gathered to be written later
	maxAhead  = 16 << 20 // read before it was asked for
)

// pools hold memory by size, the smallest first: for a look at a file, for what the service moves at once, and for
// a block.
var pools = []*bufferPool{newPool(32 << 10), newPool(256 << 10), newPool(blockSize)}

// poolFor returns the pool whose memory holds n bytes, at most a block.
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

// buffer is memory for one piece on its way, at most a block.
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

// movingBuffer returns memory for n bytes, as soon as the budget of moving bytes allows it.
func (s *store) movingBuffer(ctx context.Context, n int) (*buffer, error) {
	from := poolFor(n)
	if err := s.moving.Acquire(ctx, int64(from.size)); err != nil {
		return nil, timedOut(ctx)
	}
	return newBuffer(n, from, s.moving), nil
}

// tryBuffer returns memory for a block if the budget has left bytes, which is at least a block, and nil if not.
func tryBuffer(budget *semaphore.Weighted, left int64) *buffer {
	if !budget.TryAcquire(left) {
		return nil
	}
	budget.Release(left - blockSize)
	return newBuffer(blockSize, poolFor(blockSize), budget)
}

// free ends the use of the buffer. After an error its memory is not used again, since the operation may have been
// abandoned and still use it.
func (b *buffer) free(err error) {
	b.budget.Release(int64(b.from.size))
	if err == nil {
		b.from.Put(b.full)
	}
}
