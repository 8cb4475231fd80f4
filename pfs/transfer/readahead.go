package transfer

import (
	"context"
	"io"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// aheadChunks is how many chunks NewReadAhead reads at a time, which hides the latency of a service.
const aheadChunks = 4

// ReadAhead reads a part of a file in order, several chunks in parallel.
type ReadAhead struct {
	ctx      context.Context
	cancel   context.CancelFunc
	pool     *Pool
	parallel int
	read     func(context.Context, *aheadChunk) error
	off, end int64         // the range to read after the started chunks
	chunks   []*aheadChunk // started, in order
	rest     []byte        // bytes of the first chunk that Read has not returned
	work     sync.WaitGroup
}

// aheadChunk is a chunk that is being read.
type aheadChunk struct {
	p      []byte
	off    int64
	digest pfs.LeafDigest // if read sets it
	err    error
	done   chan struct{} // closed when the chunk was read
	taken  bool
}

// NewReadAhead returns a reader of file from one offset to another. It begins to read with the
// first Read.
func NewReadAhead(ctx context.Context, file pfs.File, from, to int64) *ReadAhead {
	return newReadAhead(ctx, NewPool(aheadChunks*pfs.ChunkSize), aheadChunks, from, to, func(ctx context.Context, c *aheadChunk) error {
		return pfs.ReadFull(ctx, file, c.p, c.off)
	})
}

// newReadAhead returns a reader over the bytes of read, with at most parallel chunks of pool. The
// caller calls release at the end if others use pool.
func newReadAhead(ctx context.Context, pool *Pool, parallel int, from, to int64, read func(context.Context, *aheadChunk) error) *ReadAhead {
	ctx, cancel := context.WithCancel(ctx)
	return &ReadAhead{ctx: ctx, cancel: cancel, pool: pool, parallel: parallel, read: read, off: from, end: to}
}

func (r *ReadAhead) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		c, err := r.take()
		if err != nil {
			return 0, err
		}
		r.rest = c.p
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// take returns the next chunk when it was read; it is valid until the next call. At the end take
// returns io.EOF. An error stays.
func (r *ReadAhead) take() (*aheadChunk, error) {
	if len(r.chunks) > 0 && r.chunks[0].taken {
		if err := r.chunks[0].err; err != nil {
			return nil, err
		}
		r.drop(r.chunks[0])
		r.chunks = r.chunks[1:]
	}
	for len(r.chunks) < r.parallel && r.off < r.end {
		if !r.pool.tryReserve() {
			if len(r.chunks) > 0 {
				break // to wait with chunks in hand might be a deadlock
			}
			if err := r.pool.reserve(r.ctx); err != nil {
				return nil, err
			}
		}
		r.begin()
	}
	if len(r.chunks) == 0 {
		return nil, io.EOF
	}
	c := r.chunks[0]
	c.taken = true
	<-c.done
	return c, c.err
}

// begin begins to read the next chunk, for which the pool has a reservation.
func (r *ReadAhead) begin() {
	n := min(pfs.ChunkSize-r.off%pfs.ChunkSize, r.end-r.off) // chunks end where leaves do
	c := &aheadChunk{off: r.off, done: make(chan struct{})}
	if n < pfs.ChunkSize/2 {
		c.p = make([]byte, n) // many files are small
	} else {
		c.p = r.pool.buffer()[:n]
	}
	r.off += n
	r.chunks = append(r.chunks, c)
	r.work.Go(func() {
		defer close(c.done)
		c.err = r.read(r.ctx, c)
	})
}

// drop gives back the memory of a chunk.
func (r *ReadAhead) drop(c *aheadChunk) {
	if cap(c.p) == pfs.ChunkSize {
		r.pool.put(c.p)
	} else {
		r.pool.cancel()
	}
}

// Stop ends the reading.
func (r *ReadAhead) Stop() {
	r.cancel()
	r.work.Wait()
}

// release is Stop, and gives back all memory.
func (r *ReadAhead) release() {
	r.Stop()
	for _, c := range r.chunks {
		r.drop(c)
	}
}
