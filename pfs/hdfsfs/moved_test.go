package hdfsfs

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// whileUsed reads the file /old, of which h knows where its blocks were, writes /new and appends to /log while replicas move.
func whileUsed(t *testing.T, f *FS, h pfs.File, data []byte, move func()) {
	t.Helper()
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
	some := data[:6*small]
	load.Go(func() {
		for ctx.Err() == nil {
			pfstest.WriteFile(t, f, "/new", some)
			pfstest.WantFile(t, f, "/new", some)
		}
	})
	appended := 0
	load.Go(func() {
		for ; ctx.Err() == nil && appended+10_000 < len(some); appended += 10_000 {
			if _, err := log.WriteAt(t.Context(), some[appended:appended+10_000], 0); err != nil {
				t.Errorf("append: %v", err)
				return
			}
			if err := log.Sync(t.Context()); err != nil {
				t.Errorf("sync: %v", err)
				return
			}
		}
	})
	move()
	end()
	load.Wait()
	pfstest.WantFile(t, f, "/old", data)
	pfstest.WantFile(t, f, "/log", some[:appended])
}

// TestReplicasMove decommissions one DataNode after the other while files are written, appended and read: all replicas move.
func TestReplicasMove(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSAlone(t)
	o := options(c, c.Scratch(t))
	o.Replication = 2 // so that two DataNodes are enough
	f := open(t, o)
	data := pfstest.Pattern(9, 6*small)
	pfstest.WriteFile(t, f, "/old", data)
	h, err := f.Open(t.Context(), "/old")
	must(t, err)
	defer h.Close()
	whileUsed(t, f, h, data, func() {
		for _, dn := range []string{"dn1", "dn2", "dn3"} {
			c.Decommission(t, dn)
			for at := c.DataNode(t, dn); !movedFrom(t, f, "/old", at); {
				must(t, wait(t.Context(), 100*time.Millisecond))
			}
		}
		c.Decommission(t)
	})
}

// TestBalancer has Hadoop's Balancer fill an empty DataNode while files are written, appended and read. Blocks have one replica, so a
// read finds those that moved only where they are now.
func TestBalancer(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSAlone(t)
	c.Capacity(t, 512<<20)
	o := options(c, c.Scratch(t))
	o.Replication = 1
	f := open(t, o)
	data := pfstest.Pattern(9, 96*small)
	c.Decommission(t, "dn3")
	pfstest.WriteFile(t, f, "/old", data)
	c.Decommission(t)
	h, err := f.Open(t.Context(), "/old")
	must(t, err)
	defer h.Close()
	got := make([]byte, len(data))
	must(t, pfs.ReadFull(t.Context(), h, got, 0)) // it knows all blocks
	nodes := func() (all []string) {              // that have the blocks
		found, err := f.located(t.Context(), f.at("/old"), 0, int64(len(data)))
		must(t, err)
		for _, b := range found.Blocks {
			for _, node := range b.Locations {
				all = append(all, node.GetId().GetUuid())
			}
		}
		return all
	}
	before, moved := nodes(), 0
	whileUsed(t, f, h, data, func() {
		for range 5 {
			c.Do(t, "balance")
			moved = 0
			for i, node := range nodes() {
				if i < len(before) && node != before[i] {
					moved++
				}
			}
			if moved >= 10 {
				break
			}
		}
	})
	if moved < 10 {
		t.Errorf("%d blocks have moved", moved)
	}
	must(t, pfs.ReadFull(t.Context(), h, got, 0))
	if !bytes.Equal(got, data) {
		t.Error("wrong bytes")
	}
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
