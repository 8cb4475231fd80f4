package hdfsfs

import (
	"bytes"
	"path"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestErasureCoded reads a file that Hadoop's own client wrote with an erasure code, with all DataNodes, with a damaged unit,
// and with one DataNode less.
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
	c.Kill(t, "dn2")
	defer c.Start(t, "dn2")
	read("one DataNode less")
}
