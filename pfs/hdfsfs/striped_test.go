package hdfsfs

import (
	"bytes"
	"path"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestErasureCoded reads files that Hadoop's own client wrote with an erasure code: with all DataNodes, with a damaged unit of data,
// with a damaged parity, and with one DataNode less. If too much is missing, no byte is invented.
func TestErasureCoded(t *testing.T) {
	c := testbed.HDFSAlone(t)
	f := open(t, options(c, c.Scratch(t)))
	must(t, f.Mkdir(t.Context(), "/coded", 0o755))
	c.Do(t, "ec", "-enablePolicy", "-policy", "XOR-2-1-1024k")
	c.Do(t, "ec", "-setPolicy", "-path", f.at("/coded"), "-policy", "XOR-2-1-1024k")
	data := pfstest.Pattern(5, 7<<20+12_345)
	from := path.Join(t.TempDir(), "data")
	must(t, writeLocal(from, data))
	c.Do(t, "fs", "-put", from, f.at("/coded/f"))
	logger, told := logs()
	f.opts.Logger = logger
	read := func(what string) {
		t.Helper()
		for _, n := range []int{100_000, len(data)} {
			if got, err := readAll(t.Context(), f, "/coded/f", n); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%s, in pieces of %d: %d bytes, %v", what, n, len(got), err)
			}
		}
	}
	read("all units")
	wantStoreChecksum(t, c, f, "/coded/f")
	c.Do(t, "fs", "-cp", f.at("/coded/f"), f.at("/coded/parity"))
	c.FlipUnit(t, f.at("/coded/f"), 1)
	read("a damaged unit of data")
	if !strings.Contains(told.String(), "a replica is damaged") {
		t.Errorf("the log does not tell about the damage: %q", told)
	}
	c.FlipUnit(t, f.at("/coded/parity"), 2)
	pfstest.WantFile(t, f, "/coded/parity", data) // which does not need the parity
	c.Do(t, "fs", "-cp", f.at("/coded/parity"), f.at("/coded/g"))
	lost := nodeOfUnit(t, c, f, "/coded/parity", 0)
	c.Kill(t, lost)
	defer c.Start(t, lost)
	if got, err := readAll(t.Context(), f, "/coded/parity", 100_000); err == nil || !bytes.HasPrefix(data, got) {
		t.Errorf("from a damaged parity: %d bytes, %v", len(got), err)
	} else {
		t.Log(err)
	}
	pfstest.WantFile(t, f, "/coded/g", data)
}

// nodeOfUnit returns the DataNode that has a unit of the first block group of a file.
func nodeOfUnit(t *testing.T, c *testbed.HDFSCluster, f *FS, name pfs.Path, unit byte) string {
	t.Helper()
	h, err := f.open(t.Context(), "test", name)
	must(t, err)
	defer h.Close()
	block, err := h.Block(t.Context(), 0, true)
	must(t, err)
	at := h.Address(block.Locations[bytes.IndexByte(block.Indices, unit)].GetId())
	for _, dn := range []string{"dn1", "dn2", "dn3"} {
		if c.DataNode(t, dn) == at {
			return dn
		}
	}
	t.Fatalf("no DataNode has the address %s", at)
	return ""
}
