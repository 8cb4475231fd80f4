package transfer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	digestSize = int64(len(pfs.LeafDigest{}))

	// journalBlock is the number of digests written at once, from a multiple of it
	// on: one small write for every 64 MiB.
	journalBlock = 16

	// flushWithin bounds the last write of a copy that is given up.
	flushWithin = 2 * time.Second
)

// journal keeps the digests that the staged leaves had when they were read from the source. It is
// part of the upload: it follows the content at the next multiple of pfs.ChunkSize, with 16 bytes a
// leaf in order, and Commit cuts it off. A resumed attempt compares the journal with the staged
// bytes. If the two agree, the leaf is intact and equal to the source, so it is not read from the
// source again. That saves a download if the source is remote. Other bytes in place of the journal
// match no leaf and do no harm.
//
// The journal works if staged bytes can be read back and written at any offset (Unit is ChunkSize).
// It only saves reads. After any error it is abandoned silently, and leaves that it lacks are
// compared with the source.
type journal struct {
	w    pfs.Staged
	base int64

	mu     sync.Mutex
	off    bool
	leaves int64
	blocks map[int64][]noted // not yet written, by block number
}

// noted is the digest of a leaf.
type noted struct {
	leaf   int64
	digest pfs.LeafDigest
}

// openJournal returns the journal of w, which will have size bytes.
func openJournal(ctx context.Context, w pfs.Staged, size int64) *journal {
	leaves := pfs.Leaves(size)
	l := &journal{w: w, base: leaves * pfs.ChunkSize, leaves: leaves, blocks: map[int64][]noted{}}
	l.off = leaves < 2 || w.Unit() != pfs.ChunkSize
	if !l.off {
		_, err := w.ReadAt(ctx, make([]byte, digestSize), l.base)
		l.off = err != nil && !errors.Is(err, io.EOF)
	}
	return l
}

// read returns the digests in the journal for the leaves [first, end).
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

// add notes the digest of leaf i, and writes its block once that is full.
func (l *journal) add(ctx context.Context, i int64, d pfs.LeafDigest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.off {
		return
	}
	b := i / journalBlock
	l.blocks[b] = append(l.blocks[b], noted{i, d})
	if int64(len(l.blocks[b])) >= min(journalBlock, l.leaves-b*journalBlock) {
		l.write(ctx, b)
	}
}

// flush writes the blocks that are not full: the last write of a copy that is given
// up.
func (l *journal) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushWithin)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	for b := range l.blocks {
		l.write(ctx, b)
	}
}

// write writes the known digests of block b in separate runs, so that the digests of an earlier
// attempt between the runs stay. If ctx is done the block waits for flush.
func (l *journal) write(ctx context.Context, b int64) {
	leaves := l.blocks[b]
	slices.SortFunc(leaves, func(a, b noted) int { return cmp.Compare(a.leaf, b.leaf) })
	for len(leaves) > 0 && !l.off {
		n := runLen(leaves)
		p := make([]byte, 0, int64(n)*digestSize)
		for _, leaf := range leaves[:n] {
			p = append(p, leaf.digest[:]...)
		}
		if _, err := l.w.WriteAt(ctx, p, l.base+leaves[0].leaf*digestSize); err != nil {
			l.off = ctx.Err() == nil
			return
		}
		leaves = leaves[n:]
	}
	delete(l.blocks, b)
}

// runLen returns how many leaves from the first on have no gap between them.
func runLen(leaves []noted) int {
	n := 1
	for n < len(leaves) && leaves[n].leaf == leaves[0].leaf+int64(n) {
		n++
	}
	return n
}
