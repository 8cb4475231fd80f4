package pfstest

import (
	"slices"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// leavesOf returns the digests of the leaves of data.
func leavesOf(data []byte) []pfs.LeafDigest {
	var ds []pfs.LeafDigest
	for p := range slices.Chunk(data, pfs.ChunkSize) {
		ds = append(ds, digest.Leaf(p))
	}
	return ds
}

// checkLeafDigests stages whole units, which a store must keep, and a short last leaf.
func checkLeafDigests(e *env) {
	w := e.create("/f", pfs.CreateOptions{})
	data := Pattern(1, 2*pfs.ChunkSize+1000)
	e.put(w, data)
	e.ok(w.Sync(e.ctx))
	want := leavesOf(data)
	for _, r := range []struct{ first, n, end int }{{0, 10, 3}, {0, 2, 2}, {1, 1, 2}, {2, 1, 3}, {3, 1, 3}, {100, 1, 3}, {0, 0, 0}} {
		got, err := w.(pfs.LeafDigester).LeafDigests(e.ctx, int64(len(data)), int64(r.first), r.n)
		e.ok(err)
		if w := want[min(r.first, r.end):r.end]; !slices.Equal(got, w) {
			e.Errorf("LeafDigests(%d, %d) = %x, want %x", r.first, r.n, got, w)
		}
	}
	longer, err := w.(pfs.LeafDigester).LeafDigests(e.ctx, int64(len(data))+5*pfs.ChunkSize, 0, 100)
	e.ok(err)
	if len(longer) > len(want) || !slices.Equal(longer[:min(2, len(longer))], want[:2]) {
		e.Errorf("LeafDigests of a longer file = %x, want the first two of %x", longer, want)
	}
}

func checkResumedLeaves(e *env) {
	w := e.create("/f", pfs.CreateOptions{ID: someID})
	unit := w.Unit()
	e.writeUnit(w, 0, unit)
	e.ok(w.Suspend(e.ctx))
	w = e.create("/f", pfs.CreateOptions{ID: someID, Reopen: true})
	got, err := w.(pfs.LeafDigester).LeafDigests(e.ctx, 2*unit, 0, 1)
	e.ok(err)
	if want := leavesOf(Pattern(1, pfs.ChunkSize)); unit >= pfs.ChunkSize && !slices.Equal(got, want) {
		e.Errorf("LeafDigests = %x, want %x", got, want)
	}
}
