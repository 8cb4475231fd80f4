//go:build ceph

package cephfs

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Bytes move through buffers of this package's own: an operation that was abandoned may still
// read from its buffer or write to it, when its caller uses his for something else long since.

// blockSize is the length of one question to the cluster. Several of them on their way keep the
// cluster, the network and this machine busy at the same time.
const blockSize = 1 << 20

// The bytes of all files of a store that are in memory at once, on their way or waiting to be.
// libcephfs has about as many again.
const (
	maxMoving     = 8 << 20  // that somebody waits for
	maxBackground = 24 << 20 // of staged writes, that are written later
	maxAhead      = 16 << 20 // that were read before they were asked for
)

// pools are of memory by size, the smallest first: for a look at a file, for the piece that a service
// moves, for a block.
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

// movingBuffer returns memory for n bytes that somebody waits for, once so much may be on its way.
func (s *store) movingBuffer(ctx context.Context, n int) (*buffer, error) {
	from := poolFor(n)
	if err := s.moving.Acquire(ctx, int64(from.size)); err != nil {
		return nil, timedOut(ctx)
	}
	return newBuffer(n, from, s.moving), nil
}

// tryBuffer returns memory for a block out of a budget of which so much is left, at least a block, and
// else nil.
func tryBuffer(budget *semaphore.Weighted, left int64) *buffer {
	if !budget.TryAcquire(left) {
		return nil
	}
	budget.Release(left - blockSize)
	return newBuffer(blockSize, poolFor(blockSize), budget)
}

// free ends the use of the buffer. After an operation that failed, and may have been abandoned, the
// memory is left to whoever still uses it.
func (b *buffer) free(err error) {
	b.budget.Release(int64(b.from.size))
	if err == nil {
		b.from.Put(b.full)
	}
}

// blocks calls do for each part of n bytes from off on that is in one block, some of them at once, and
// returns how many bytes were done before the first that was not done whole.
func blocks(n int, off int64, do func(from, to int, off int64) (int, error)) (int, error) {
	ends := blockEnds(n, off)
	done, errs := make([]int, len(ends)), make([]error, len(ends))
	inParallel(flightsEach, len(ends), func(k int) {
		from := 0
		if k > 0 {
			from = ends[k-1]
		}
		done[k], errs[k] = do(from, ends[k], off+int64(from))
	})
	sum := 0
	for k, end := range ends {
		sum += done[k]
		if errs[k] != nil || sum < end {
			return sum, errs[k]
		}
	}
	return sum, nil
}

// blockEnds cuts n bytes from off on where blocks of the file end.
func blockEnds(n int, off int64) (ends []int) {
	for end := 0; end < n; {
		end = min(n, end+int(blockSize-(off+int64(end))%blockSize))
		ends = append(ends, end)
	}
	return ends
}

// flightsEach is the number of blocks of one file that are on their way at once for one caller.
const flightsEach = 4
