package hdfsfs

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestReplicasMove decommissions one DataNode after the other while files are written, appended and read: all replicas move.
func TestReplicasMove(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSAlone(t)
	o := options(c, c.Scratch(t))
	o.Replication = 2 // so that two DataNodes are enough
	f := open(t, o)
	data := pfstest.Pattern(9, 6*small)
	pfstest.WriteFile(t, f, "/old", data)
	h, err := f.Open(t.Context(), "/old") // which remembers where its blocks were
	must(t, err)
	defer h.Close()
	log := openFor(t, f, "/log", appending|pfs.OpenCreate)
	ctx, end := context.WithCancel(t.Context())
	var load sync.WaitGroup
	load.Go(func() {
		for n := 0; ctx.Err() == nil; n = (n + 100_001) % (len(data) - 100_000) {
			p := make([]byte, 100_000)
			if _, err := h.ReadAt(ctx, p, int64(n)); ctx.Err() == nil && (err != nil || string(p) != string(data[n:n+len(p)])) {
				t.Errorf("read at %d: %v", n, err)
				return
			}
		}
	})
	load.Go(func() {
		for ctx.Err() == nil {
			pfstest.WriteFile(t, f, "/new", data)
			pfstest.WantFile(t, f, "/new", data)
		}
	})
	appended := 0
	load.Go(func() {
		for ; ctx.Err() == nil && appended+10_000 < len(data); appended += 10_000 {
			if _, err := log.WriteAt(t.Context(), data[appended:appended+10_000], 0); err != nil {
				t.Errorf("append: %v", err)
				return
			}
			if err := log.Sync(t.Context()); err != nil {
				t.Errorf("sync: %v", err)
				return
			}
		}
	})
	for _, dn := range []string{"dn1", "dn2", "dn3"} {
		c.Decommission(t, dn)
		for at := c.DataNode(t, dn); !movedFrom(t, f, "/old", at); {
			must(t, wait(t.Context(), 100*time.Millisecond))
		}
	}
	c.Decommission(t)
	end()
	load.Wait()
	pfstest.WantFile(t, f, "/old", data)
	pfstest.WantFile(t, f, "/log", data[:appended])
}

// movedFrom reports whether all blocks of a file have two replicas that are not on the DataNode with this address.
func movedFrom(t *testing.T, f *FS, name pfs.Path, address string) bool {
	t.Helper()
	found, err := f.located(t.Context(), f.at(name), 0, 1<<40)
	must(t, err)
	for _, b := range found.Blocks {
		elsewhere := 0
		for _, node := range b.Locations {
			if datanode.Address(node.GetId(), false) != address {
				elsewhere++
			}
		}
		if elsewhere < 2 {
			return false
		}
	}
	return true
}
