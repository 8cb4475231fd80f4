//go:build ceph

package cephfs

import (
	"context"
	"io"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	// maxAhead is the number of bytes of all open files that are read ahead. With more, reads ask
	// for themselves.
	maxAhead = 16 << 20
	// aheadSize is the length of what is read at once for a reader of small pieces in order.
	aheadSize = 1 << 20
	// aheadFrom is the length of a piece at the start of a chunk that is taken for the first of
	// many; shorter ones are when a second one follows the first.
	aheadFrom = 128 << 10
)

// ahead reads for who reads small pieces of a file in order: the cluster answers for a large piece in
// hardly more time than for a small one. It holds the block that is being read and the next.
type ahead struct {
	f *file

	mu     sync.Mutex
	next   int64 // where a reader in order would go on
	blocks []*block
	closed bool
}

// block is a part of the file, once done is closed.
type block struct {
	off  int64
	p    []byte
	n    int
	err  error
	done chan struct{}
}

// read reads up to a block's end into p. With ok false nothing was read and the caller has to ask for
// itself.
func (a *ahead) read(ctx context.Context, p []byte, off int64) (n int, ok bool) {
	b := a.find(off, int64(len(p)))
	if b == nil {
		return 0, false
	}
	select {
	case <-b.done:
	case <-ctx.Done():
		return 0, false
	}
	if b.err != nil || off-b.off >= int64(b.n) {
		a.forget(b)
		return 0, false
	}
	return copy(p, b.p[off-b.off:b.n]), true
}

// find returns the block that holds off, and begins to read it, and the one behind it, if the reader
// seems to read in order; nil if not.
func (a *ahead) find(off, n int64) *block {
	a.mu.Lock()
	defer a.mu.Unlock()
	inOrder := off == a.next && off > 0 || off%pfs.ChunkSize == 0 && n >= aheadFrom
	a.next = off + n
	if a.closed || off >= a.f.info.Size {
		return nil
	}
	b := a.has(off)
	if b == nil && inOrder {
		b = a.begin(off)
	}
	// Not into the next chunk: many a reader wants one, and another one is open for the next.
	if b != nil && (b.off+aheadSize)%pfs.ChunkSize != 0 && a.has(b.off+aheadSize) == nil {
		a.begin(b.off + aheadSize)
	}
	return b
}

// has returns the block that holds off, nil if none does.
func (a *ahead) has(off int64) *block {
	for _, b := range a.blocks {
		if off >= b.off && off < b.off+aheadSize {
			return b
		}
	}
	return nil
}

// begin begins to read a block, in place of the older of two; a.mu is held. A reader may still copy
// from that one, so its memory is left to the collector.
func (a *ahead) begin(off int64) *block {
	size := min(aheadSize, a.f.info.Size-off)
	if size <= 0 {
		return nil
	}
	if len(a.blocks) == 2 {
		a.drop(a.blocks[0])
	}
	if !a.f.fs.store.ahead.TryAcquire(aheadSize) {
		return nil
	}
	b := &block{off: off, p: make([]byte, size), done: make(chan struct{})}
	a.blocks = append(a.blocks, b)
	go func() {
		defer close(b.done)
		b.n, b.err = a.f.readNow(context.Background(), b.p, off)
		if b.err == io.EOF {
			b.err = nil
		}
	}()
	return b
}

// forget drops a block that could not be read.
func (a *ahead) forget(b *block) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(b)
}

// drop takes b out; a.mu is held.
func (a *ahead) drop(b *block) {
	for i, other := range a.blocks {
		if other == b {
			a.blocks = append(a.blocks[:i:i], a.blocks[i+1:]...)
			a.f.fs.store.ahead.Release(aheadSize)
			return
		}
	}
}

// close ends it.
func (a *ahead) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for len(a.blocks) > 0 {
		a.drop(a.blocks[0])
	}
}
