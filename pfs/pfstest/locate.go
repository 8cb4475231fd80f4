package pfstest

import (
	"math"

	"github.com/paddlecloud/pfs/pfs"
)

var locatePromises = []promise{
	{says: "block locations cover the range, in order", needs: NoBlockLocations, check: func(e *env) {
		const size = 2*pfs.ChunkSize + 7
		WriteFile(e, e.fs, "/f", Pattern(1, size))
		for _, r := range []struct{ off, n int64 }{{0, size}, {5, 1}, {pfs.ChunkSize - 1, 2}, {pfs.ChunkSize, pfs.ChunkSize}, {size - 1, math.MaxInt64 - size}} {
			blocks, err := pfs.LocateBlocks(e.ctx, e.fs, "/f", r.off, r.n)
			e.ok(err)
			if len(blocks) == 0 || blocks[0].Offset > r.off {
				e.Fatalf("%d bytes from %d on: %+v does not begin there", r.n, r.off, blocks)
			}
			at := blocks[0].Offset
			for _, b := range blocks {
				if b.Offset != at || b.Length <= 0 || len(b.Hosts) == 0 {
					e.Errorf("%d bytes from %d on: %+v where one at %d, with hosts, belongs", r.n, r.off, b, at)
				}
				at += b.Length
			}
			if end := min(size, r.off+r.n); at < end || at > size {
				e.Errorf("%d bytes from %d on: they end at %d, want %d to %d", r.n, r.off, at, end, size)
			}
		}
	}},
	{says: "bytes beyond the end have no location", needs: NoBlockLocations, check: func(e *env) {
		WriteFile(e, e.fs, "/f", Pattern(1, 1000))
		WriteFile(e, e.fs, "/empty", nil)
		for name, off := range map[pfs.Path]int64{"/f": 1000, "/empty": 0} {
			blocks, err := pfs.LocateBlocks(e.ctx, e.fs, name, off, 10)
			e.ok(err)
			if len(blocks) != 0 {
				e.Errorf("%s from %d on: %+v, want none", name, off, blocks)
			}
		}
	}},
	{says: "negative ranges answer Invalid", needs: NoBlockLocations, check: func(e *env) {
		WriteFile(e, e.fs, "/f", Pattern(1, 1000))
		for _, r := range []struct{ off, n int64 }{{-1, 10}, {0, -1}} {
			e.want(errOf(pfs.LocateBlocks(e.ctx, e.fs, "/f", r.off, r.n)), pfs.Invalid, "/f")
		}
	}},
}
