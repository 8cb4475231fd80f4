package transfer

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	digestSize = int64(len(pfs.LeafDigest{}))

	// journalBlock is the number of digests written at once: one small write for
	// every 64 MiB.
	journalBlock = 16

	// flushWithin bounds the last write of a copy that is given up.
	flushWithin = 2 * time.Second
)

// journal notes in the staged write itself what the leaves that were staged had for
// digests when they were read from the source. It lies behind the content, from the
// next multiple of pfs.ChunkSize on, 16 bytes a leaf in order, and Commit cuts it
// off. An attempt that goes on compares it with the staged bytes: a leaf for which
// the two agree is whole, and is what the source had, so that it need not be read
// from the source again. That matters when the source is the far end. Bytes that
// are not what a journal would have there agree with nothing and do no harm.
//
// It works where staged bytes can be read back and written at any offset (Unit is
// ChunkSize), and is a help, not a need: whatever fails about it ends it in silence,
// and the leaves it does not tell of are compared with the source.
type journal struct {
	w    pfs.Staged
	base int64

	mu    sync.Mutex
	off   bool
	first int64 // the leaf that block begins with
	block []byte
}

// openJournal returns the journal of w, which will have size bytes.
func openJournal(ctx context.Context, w pfs.Staged, size int64) *journal {
	l := &journal{w: w, base: leavesOf(size) * pfs.ChunkSize}
	l.off = size <= pfs.ChunkSize || w.Unit() != pfs.ChunkSize
	if !l.off {
		_, err := w.ReadAt(ctx, make([]byte, digestSize), l.base)
		l.off = err != nil && !errors.Is(err, io.EOF)
	}
	return l
}

// read returns what is noted of the leaves [first, end).
func (l *journal) read(ctx context.Context, first, end int64) []pfs.LeafDigest {
	l.mu.Lock()
	off := l.off
	l.mu.Unlock()
	if off {
		return nil
	}
	b := make([]byte, (end-first)*digestSize)
	n := 0
	for n < len(b) {
		k, err := l.w.ReadAt(ctx, b[n:], l.base+first*digestSize+int64(n))
		n += k
		if err != nil {
			break
		}
	}
	ds := make([]pfs.LeafDigest, n/int(digestSize))
	for i := range ds {
		copy(ds[i][:], b[i*int(digestSize):])
	}
	return ds
}

// add notes leaf i, the one after the last.
func (l *journal) add(ctx context.Context, i int64, d pfs.LeafDigest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.off {
		return
	}
	if i == 0 { // another pass
		l.first, l.block = 0, l.block[:0]
	}
	l.block = append(l.block, d[:]...)
	if len(l.block) == journalBlock*int(digestSize) {
		l.write(ctx)
	}
}

// flush writes what was noted since the last full block.
func (l *journal) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushWithin)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.off && len(l.block) > 0 {
		l.write(ctx)
	}
}

func (l *journal) write(ctx context.Context) {
	_, err := l.w.WriteAt(ctx, l.block, l.base+l.first*digestSize)
	l.off = err != nil
	l.first += int64(len(l.block)) / digestSize
	l.block = l.block[:0]
}
