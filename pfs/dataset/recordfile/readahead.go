package recordfile

import (
	"context"
	"io"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// aheadChunks is how many chunks of a remote file are asked for at once: enough to
// hide the way to the service.
const aheadChunks = 4

// ReadAhead reads a part of a file in order, aheadChunks chunks in parallel.
type ReadAhead struct {
	ctx    context.Context
	cancel context.CancelFunc
	file   pfs.File
	next   int64         // offset of the next chunk to ask for
	end    int64         // where the part ends
	chunks []*aheadChunk // asked for, in order
	rest   []byte        // of the first, what has not been read
	free   [][]byte
	work   sync.WaitGroup
}

// aheadChunk is one chunk that was asked for.
type aheadChunk struct {
	p    []byte
	err  error
	done chan struct{}
}

// NewReadAhead returns a reader of file from one offset to another; it begins with the
// first Read.
func NewReadAhead(ctx context.Context, file pfs.File, from, to int64) *ReadAhead {
	ctx, cancel := context.WithCancel(ctx)
	return &ReadAhead{ctx: ctx, cancel: cancel, file: file, next: from, end: to}
}

func (r *ReadAhead) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if err := r.advance(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// advance goes to the next chunk. An error stays.
func (r *ReadAhead) advance() error {
	if len(r.chunks) > 0 && r.chunks[0].err != nil {
		return r.chunks[0].err
	}
	if len(r.chunks) > 0 && r.rest != nil {
		r.free = append(r.free, r.chunks[0].p[:0])
		r.chunks, r.rest = r.chunks[1:], nil
	}
	for len(r.chunks) < aheadChunks && r.next < r.end {
		r.ask()
	}
	if len(r.chunks) == 0 {
		return io.EOF
	}
	c := r.chunks[0]
	<-c.done
	if c.err != nil {
		return c.err
	}
	r.rest = c.p
	return nil
}

// ask begins to read the next chunk.
func (r *ReadAhead) ask() {
	// They end where leaves do.
	n := min(pfs.ChunkSize-r.next%pfs.ChunkSize, r.end-r.next)
	c := &aheadChunk{p: r.buffer(n), done: make(chan struct{})}
	off := r.next
	r.next += n
	r.chunks = append(r.chunks, c)
	r.work.Go(func() {
		defer close(c.done)
		c.err = pfs.ReadFull(r.ctx, r.file, c.p, off)
	})
}

func (r *ReadAhead) buffer(n int64) []byte {
	if last := len(r.free) - 1; last >= 0 && int64(cap(r.free[last])) >= n {
		b := r.free[last]
		r.free = r.free[:last]
		return b[:n]
	}
	return make([]byte, n)
}

// Stop ends what is being read.
func (r *ReadAhead) Stop() {
	r.cancel()
	r.work.Wait()
}
