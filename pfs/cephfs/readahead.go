//go:build ceph

package cephfs

import (
	"context"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	// aheadBlocks is the number of blocks of one file that are read ahead.
	aheadBlocks = 4
	// maxBlocks is the number of blocks kept per file, for several readers.
	maxBlocks = 4 * aheadBlocks
	// A read of aheadFrom bytes at the start of a chunk probably begins a sequence, and starts
	// reading ahead. After a shorter read, the next one has to continue it.
	aheadFrom = 128 << 10
)

// readAhead reads a file ahead of a sequential reader: while the reader uses one block, the next
// blocks are in transit.
type readAhead struct {
	f *file

	mu     sync.Mutex
	start  int64 // start of the current sequential run
	next   int64 // where that run would continue
	blocks []*block
	closed bool
}

// block is a block of the file, valid once done is closed.
type block struct {
	off     int64
	data    *buffer
	n       int
	err     error
	done    chan struct{}
	users   int  // readers that wait for it or copy from it, and the read itself
	dropped bool // no new reader finds it
}

// end returns the end of the block, even if the file ends before that.
func (b *block) end() int64 { return b.off + blockSize }

// read copies bytes of the block at off into p. If ok is false, the block was not read ahead, and
// the caller must read from the cluster.
func (a *readAhead) read(ctx context.Context, p []byte, off int64) (n int, ok bool) {
	b := a.acquire(off)
	if b == nil {
		return 0, false
	}
	select {
	case <-b.done:
		if b.err == nil && off-b.off < int64(b.n) {
			n = copy(p, b.data.p[off-b.off:b.n])
		}
	case <-ctx.Done():
	}
	a.release(b, n == 0 || off+int64(n) == b.off+int64(b.n))
	return n, n > 0
}

// expect is called for every read, of n bytes at off. If the reads seem sequential, it starts to
// read the blocks of these bytes and the next ones.
func (a *readAhead) expect(off, n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	inOrder := off == a.next && off > 0
	if !inOrder {
		a.start = off
	}
	a.next = off + n
	if a.closed || off < 0 || !inOrder && (off%pfs.ChunkSize != 0 || n < aheadFrom) && a.blockAt(off) == nil {
		return
	}
	for at := off - off%blockSize; at < a.until(off, n); at += blockSize {
		if a.blockAt(at) == nil && !a.begin(at) {
			return
		}
	}
}

// until returns where reading ahead ends: some blocks after the n bytes at off. While all reads of
// this run were in one chunk it stays within that chunk, since many callers read a single chunk and
// leave the next one to another open file.
func (a *readAhead) until(off, n int64) int64 {
	end := off + n
	until := end + aheadBlocks*blockSize
	if chunk := (end - 1) / pfs.ChunkSize; a.start/pfs.ChunkSize == chunk {
		until = min(until, (chunk+1)*pfs.ChunkSize)
	}
	return min(until, a.f.info.Size)
}

// acquire returns the block that contains off, which the caller releases, or nil.
func (a *readAhead) acquire(off int64) *block {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.blockAt(off)
	if b != nil {
		b.users++
	}
	return b
}

// blockAt returns the block that holds off, or nil. The caller holds a.mu.
func (a *readAhead) blockAt(off int64) *block {
	for _, b := range a.blocks {
		if off >= b.off && off < b.end() {
			return b
		}
	}
	return nil
}

// begin starts to read the block at off, and reports whether there was memory for it. Half of the
// store's memory is reserved for files with fewer than two blocks. A file with too many drops its
// oldest block, whose reader has gone elsewhere. The caller holds a.mu.
func (a *readAhead) begin(off int64) bool {
	if len(a.blocks) >= maxBlocks {
		a.drop(a.blocks[0])
	}
	left := int64(blockSize)
	if len(a.blocks) >= 2 {
		left = maxAhead / 2
	}
	data := tryBuffer(a.f.fs.store.ahead, left)
	if data == nil {
		return false
	}
	b := &block{off: off, data: data, done: make(chan struct{}), users: 1}
	a.blocks = append(a.blocks, b)
	want := data.p[:min(blockSize, a.f.info.Size-off)]
	go func() {
		b.n, b.err = a.f.readInto(context.Background(), want, off)
		close(b.done)
		a.release(b, b.err != nil)
	}()
	return true
}

// release ends the use of a block by one reader. over reports that it has been read to its end, so it
// is dropped.
func (a *readAhead) release(b *block, over bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b.users--
	if over {
		a.drop(b)
	}
	b.release()
}

// drop removes b from the list, so that no other reader finds it. The caller holds a.mu.
func (a *readAhead) drop(b *block) {
	for i, other := range a.blocks {
		if other == b {
			a.blocks = append(a.blocks[:i:i], a.blocks[i+1:]...)
			b.dropped = true
			b.release()
			return
		}
	}
}

// release frees the memory of a dropped block once it has no users. The caller holds the mu of its
// readAhead.
func (b *block) release() {
	if b.dropped && b.users == 0 && b.data != nil {
		b.data.free(b.err)
		b.data = nil
	}
}

// close drops all blocks and ends reading ahead.
func (a *readAhead) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for len(a.blocks) > 0 {
		a.drop(a.blocks[0])
	}
}
