package hdfsfs

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestReadsFollow checks who waits for whom, and that a reader is passed on also past a read that gave up.
func TestReadsFollow(t *testing.T) {
	h := &file{}
	row := []*read{h.enter(0, 4)}
	for i := range maxFollowing {
		row = append(row, h.enter(int64(4+4*i), 4))
		if got := row[i+1].ahead; got != i+1 {
			t.Errorf("read %d waits for %d", i+1, got)
		}
	}
	end := row[maxFollowing].end
	if r := h.enter(end, 4); r.turn != nil {
		t.Error("a read follows too many others")
	}
	if r := h.enter(8, 4); r.turn != nil {
		t.Error("two reads follow the same one")
	}
	if r := h.enter(2, 1); r.turn != nil {
		t.Error("a read of other bytes follows")
	}
	if with, ok := h.await(t.Context(), row[0]); with != nil || !ok {
		t.Error("the first one waits")
	}
	gaveUp, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := h.await(gaveUp, row[1]); ok {
		t.Error("a read whose context has ended got its turn")
	}
	mine := new(reader)
	h.leave(row[0], mine)
	with, ok := h.await(t.Context(), row[2])
	if with != mine || !ok {
		t.Errorf("the reader is %p, %v; want %p", with, ok, mine)
	}
	h.leave(row[2], nil) // it failed
	if with, ok := h.await(t.Context(), row[3]); with != nil || !ok {
		t.Error("a reader that failed is passed on")
	}
	if got := row[maxFollowing].ahead; got != maxFollowing-3 {
		t.Errorf("the last one waits for %d", got)
	}
	if r := h.enter(end, 4); r.turn == nil {
		t.Error("a read does not follow those that are left")
	}
}

// TestReadsInParallel reads pieces that follow each other in parallel, some of which give up.
func TestReadsInParallel(t *testing.T) {
	c := testbed.HDFSAlone(t)
	o := options(c, c.Scratch(t))
	o.BlockSize = 1 << 20
	f := open(t, o)
	const piece = 100_000
	data := pfstest.Pattern(9, 5<<20)
	pfstest.WriteFile(t, f, "/f", data)
	h, err := f.Open(t.Context(), "/f")
	must(t, err)
	defer h.Close()
	for round := range 5 {
		r := rand.New(rand.NewPCG(uint64(round), 2))
		var work sync.WaitGroup
		for off := 0; off < len(data); off += piece {
			ctx, cancel := context.WithCancel(t.Context())
			if r.IntN(5) == 0 {
				cancel()
			}
			work.Go(func() {
				defer cancel()
				p := make([]byte, min(piece, len(data)-off))
				err := pfs.ReadFull(ctx, h, p, int64(off))
				if ctx.Err() != nil {
					pfstest.WantKind(t, err, pfs.Canceled)
				} else if err != nil || !bytes.Equal(p, data[off:off+len(p)]) {
					t.Errorf("wrong bytes at %d, %v", off, err)
				}
			})
		}
		work.Wait()
	}
}
