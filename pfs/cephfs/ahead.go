//go:build ceph

package cephfs

import (
	"context"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	// aheadBlocks is the number of blocks of one file that are read before they are asked for.
	aheadBlocks = 4
	// maxBlocks is the number of blocks that are kept of one file, for several readers.
	maxBlocks = 4 * aheadBlocks
	// aheadFrom is the length of a piece at the start of a chunk that is taken for the first of
	// many; shorter ones are when a second one follows the first.
	aheadFrom = 128 << 10
)

// ahead reads for who reads a file in order: while he works on one block, the next ones are on their way.
type ahead struct {
	f *file

	mu     sync.Mutex
	start  int64 // where the reader in order began
	next   int64 // where he would go on
	blocks []*block
	closed bool
}

// block is a block of the file, once done is closed.
type block struct {
	off     int64
	data    *buffer
	n       int
	err     error
	done    chan struct{}
	users   int  // who wait for it or copy from it, and the reading itself
	dropped bool // nobody else comes
}

// end is where the block ends, whether the file does before or not.
func (b *block) end() int64 { return b.off + blockSize }

// read reads up to a block's end into p. With ok false nothing was read and the caller has to ask for
// itself.
func (a *ahead) read(ctx context.Context, p []byte, off int64) (n int, ok bool) {
	b := a.use(off)
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
	a.leave(b, n == 0 || off+int64(n) == b.off+int64(b.n))
	return n, n > 0
}

// expect tells of n bytes at off that are asked for. It begins to read the blocks that they are in, and
// those behind, if the reader seems to read in order.
func (a *ahead) expect(off, n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	inOrder := off == a.next && off > 0
	if !inOrder {
		a.start = off
	}
	a.next = off + n
	if a.closed || off < 0 || !inOrder && (off%pfs.ChunkSize != 0 || n < aheadFrom) && a.has(off) == nil {
		return
	}
	for at := off - off%blockSize; at < a.until(off, n); at += blockSize {
		if a.has(at) == nil && !a.begin(at) {
			return
		}
	}
}

// until is where reading ahead ends: behind what is asked for, but not in the next chunk before the
// reader has gone from one to the next himself. Many a one wants one chunk, and another is open for the
// next.
func (a *ahead) until(off, n int64) int64 {
	end := off + n
	until := end + aheadBlocks*blockSize
	if chunk := (end - 1) / pfs.ChunkSize; a.start/pfs.ChunkSize == chunk {
		until = min(until, (chunk+1)*pfs.ChunkSize)
	}
	return min(until, a.f.info.Size)
}

// use returns the block that holds off, which leave lets go of; nil if there is none.
func (a *ahead) use(off int64) *block {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.has(off)
	if b != nil {
		b.users++
	}
	return b
}

// has returns the block that holds off, nil if none does; a.mu is held.
func (a *ahead) has(off int64) *block {
	for _, b := range a.blocks {
		if off >= b.off && off < b.end() {
			return b
		}
	}
	return nil
}

// begin begins to read a block, and reports whether there was memory for it; a.mu is held. Half of the
// memory is for those who have few. With too many the oldest gives way: its reader has gone elsewhere.
func (a *ahead) begin(off int64) bool {
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
		a.leave(b, b.err != nil)
	}()
	return true
}

// leave lets go of a block, which nobody wants any more if it is over.
func (a *ahead) leave(b *block, over bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b.users--
	if over {
		a.drop(b)
	}
	b.release()
}

// drop takes b out; a.mu is held.
func (a *ahead) drop(b *block) {
	for i, other := range a.blocks {
		if other == b {
			a.blocks = append(a.blocks[:i:i], a.blocks[i+1:]...)
			b.dropped = true
			b.release()
			return
		}
	}
}

// release gives the memory back once nobody uses it. It is called under the lock of the ahead.
func (b *block) release() {
	if b.dropped && b.users == 0 && b.data != nil {
		b.data.free(b.err)
		b.data = nil
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
