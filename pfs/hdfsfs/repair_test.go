package hdfsfs

import (
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// writeOnce writes data from its start to its end. No byte may be asked for twice.
func writeOnce(t *testing.T, w pfs.Staged, data []byte, at func(off int)) {
	t.Helper()
	for off := 0; off < len(data); off += 100_000 {
		at(off)
		if _, err := w.WriteAt(t.Context(), data[off:min(off+100_000, len(data))], int64(off)); err != nil {
			t.Fatalf("at byte %d: %v", off, err)
		}
	}
	_, err := w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data))})
	must(t, err)
}

// TestPipelineRepaired loses a DataNode at each tenth of a block, then two of three. The writer sends nothing again.
func TestPipelineRepaired(t *testing.T) {
	c := testbed.HDFSAlone(t)
	o := options(c, c.Scratch(t))
	o.BlockSize, o.PartSize = 4*small, 4*small
	data := pfstest.Pattern(3, 4*small)
	nodes := []string{"dn1", "dn2", "dn3"}
	lose := func(t *testing.T, tenth int, down ...string) {
		f := open(t, o) // which excludes no DataNode: it knows of no failure
		w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
		must(t, err)
		defer w.Close(t.Context())
		lost := false
		writeOnce(t, w, data, func(off int) {
			if off >= tenth*len(data)/10 && !lost {
				lost = true
				for _, dn := range down {
					c.Kill(t, dn)
				}
			}
		})
		pfstest.WantFile(t, f, "/f", data)
		c.Do(t, append([]string{"start"}, down...)...)
	}
	for tenth := range 10 {
		if testing.Short() && tenth != 5 {
			continue
		}
		lose(t, tenth, nodes[tenth%3])
	}
	if !testing.Short() {
		lose(t, 5, "dn1", "dn3")
	}
}

// TestAllDataNodesLost loses all DataNodes in the middle of a block. The write fails in time, and succeeds when they are back.
func TestAllDataNodesLost(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSAlone(t)
	o := options(c, c.Scratch(t))
	o.BlockSize, o.PartSize = 16*small, 16*small
	f := open(t, o)
	data := pfstest.Pattern(3, 16*small)
	w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
	must(t, err)
	defer w.Close(t.Context())
	_, err = w.WriteAt(t.Context(), data[:small], 0)
	must(t, err)
	for _, dn := range []string{"dn1", "dn2", "dn3"} {
		c.Kill(t, dn)
	}
	_, err = w.WriteAt(t.Context(), data[small:], small)
	pfstest.WantKind(t, err, pfs.Integrity)
	c.Do(t, "start", "dn1", "dn2", "dn3")
	must(t, send(t.Context(), w, data, func(int) {}))
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data))})
	must(t, err)
	pfstest.WantFile(t, f, "/f", data)
}

// TestAppendRepaired loses a DataNode before an append begins, and another one in it.
func TestAppendRepaired(t *testing.T) {
	c := testbed.HDFSAlone(t)
	f := open(t, options(c, c.Scratch(t)))
	data := pfstest.Pattern(5, small)
	h := openFor(t, f, "/f", appending|pfs.OpenCreate)
	appendAll(t, h, data[:1000])
	must(t, h.Sync(t.Context()))
	h.awaitReplicas(t.Context()) // so that the one that is lost is among them
	c.Kill(t, "dn1")
	appendAll(t, h, data[1000:300_000])
	c.Kill(t, "dn2")
	appendAll(t, h, data[300_000:])
	must(t, h.Sync(t.Context()))
	pfstest.WantFile(t, f, "/f", data)
	c.Do(t, "start", "dn1", "dn2") // with replicas that miss something, which nobody reads
	pfstest.WantFile(t, f, "/f", data)
}
