package hdfsfs

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestErasureCoded reads files that Hadoop's own client wrote with an erasure code: with all DataNodes, with a damaged unit of data,
// with a damaged parity, and with one DataNode less. If too much is missing, no byte is invented.
func TestErasureCoded(t *testing.T) {
	c := testbed.HDFSAlone(t)
	f := open(t, options(c, c.Scratch(t)))
	code(t, c, f, "/coded")
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
	waitForUnits(t, f, "/coded/f")
	c.FlipUnit(t, f.at("/coded/f"), 1)
	read("a damaged unit of data")
	if !strings.Contains(told.String(), "a replica is damaged") {
		t.Errorf("the log does not tell about the damage: %q", told)
	}
	waitForUnits(t, f, "/coded/parity")
	c.FlipUnit(t, f.at("/coded/parity"), 2)
	pfstest.WantFile(t, f, "/coded/parity", data) // which does not need the parity
	c.Do(t, "fs", "-cp", f.at("/coded/parity"), f.at("/coded/g"))
	waitForUnits(t, f, "/coded/g")
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

// waitForUnits waits until the NameNode knows all units of a file. DataNodes may tell it late, and lost
// units must be made again first.
func waitForUnits(t *testing.T, f *FS, name pfs.Path) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		found, err := f.located(t.Context(), f.at(name), 0, 1<<40)
		must(t, err)
		missing := 0
		for _, b := range found.Blocks {
			missing += min(2, int(b.GetBlock().GetNumBytes()+small-1)/small) + 1 - len(b.Locations)
		}
		if missing == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the units of %s are not complete within a minute", name)
		}
	}
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

// code makes the directory for erasure-coded files.
func code(t *testing.T, c *testbed.HDFSCluster, f *FS, dir pfs.Path) {
	t.Helper()
	must(t, f.Mkdir(t.Context(), dir, 0o755))
	c.Do(t, "ec", "-enablePolicy", "-policy", "XOR-2-1-1024k")
	c.Do(t, "ec", "-setPolicy", "-path", f.at(dir), "-policy", "XOR-2-1-1024k")
}

// TestErasureCodedUpload writes files of sizes around cells, stripes, block groups and parts to a directory with an erasure code,
// and has them read by Hadoop's own client, and with one DataNode less.
func TestErasureCodedUpload(t *testing.T) {
	c := testbed.HDFSAlone(t)
	o := options(c, c.Scratch(t))
	o.BlockSize, o.PartSize = 2*small, 2*small // block groups and parts of 4 MiB
	f := open(t, o)
	code(t, c, f, "/coded")
	sizes := []int{0, 1, small - 1, small, small + 1, 2 * small, 2*small + 513, 3*small + 5, 4 * small, 4*small + 1, 13*small + 12_345}
	for _, size := range sizes {
		name := pfs.Path(fmt.Sprint("/coded/", size))
		data := pfstest.Pattern(uint64(size), size)
		pfstest.WriteFile(t, f, name, data)
		pfstest.WantFile(t, f, name, data)
		st, err := f.status(t.Context(), name)
		must(t, err)
		if newCoding(st.policy).name != "XOR-2-1-1024k" {
			t.Errorf("%s is not erasure-coded", name)
		}
	}
	last := pfs.Path(fmt.Sprint("/coded/", sizes[len(sizes)-1]))
	wantStoreChecksum(t, c, f, last)
	to := path.Join(t.TempDir(), "copies")
	c.Do(t, "fs", "-get", f.at("/coded"), to)
	for _, size := range sizes {
		if got, err := os.ReadFile(fmt.Sprint(to, "/", size)); err != nil || !bytes.Equal(got, pfstest.Pattern(uint64(size), size)) {
			t.Errorf("Hadoop's client reads %d bytes of %d: %v", len(got), size, err)
		}
	}
	for _, size := range sizes {
		waitForUnits(t, f, pfs.Path(fmt.Sprint("/coded/", size)))
	}
	c.Kill(t, "dn3")
	defer c.Start(t, "dn3")
	for _, size := range sizes {
		pfstest.WantFile(t, f, pfs.Path(fmt.Sprint("/coded/", size)), pfstest.Pattern(uint64(size), size))
	}
}

// TestErasureCodedRepaired loses a DataNode while an erasure-coded file is written. The writer sends nothing again, and no
// replica of that DataNode counts when it is back.
func TestErasureCodedRepaired(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSAlone(t)
	o := options(c, c.Scratch(t))
	o.BlockSize, o.PartSize = 8*small, 8*small
	code(t, c, open(t, o), "/coded")
	data := pfstest.Pattern(4, 15*small+77)
	for i, dn := range []string{"dn1", "dn2", "dn3"} {
		f := open(t, o)
		w, err := f.Create(t.Context(), "/coded/f", pfs.CreateOptions{})
		must(t, err)
		defer w.Close(t.Context())
		lost := false
		writeOnce(t, w, data, func(off int) {
			if off >= (i+1)*4*small && !lost {
				lost = true
				c.Kill(t, dn)
			}
		})
		pfstest.WantFile(t, f, "/coded/f", data)
		c.Start(t, dn)
		other := []string{"dn2", "dn3", "dn1"}[i]
		waitForUnits(t, f, "/coded/f")
		c.Kill(t, other)
		pfstest.WantFile(t, open(t, o), "/coded/f", data)
		c.Start(t, other)
	}
}

// TestErasureCodedProtected writes erasure-coded files where data transfer is signed and encrypted, by Kerberos and by a key of the
// cluster, and in an encryption zone of each of these clusters. While each file is written, one DataNode becomes silent. The file is
// read without this DataNode, and by Hadoop's client when the DataNode answers again.
func TestErasureCodedProtected(t *testing.T) {
	testbed.Long(t)
	secure := testbed.HDFSSecure(t)
	root := secure.Scratch(t)
	for _, protection := range []string{"integrity", "privacy"} {
		secure.Do(t, "kinit", "nn")
		silentWhileCoded(t, secure, protectedBy(protection)(t, secure, root), pfs.Path("/"+protection))
	}
	makeZone(t, secure, root+"/zone")
	silentWhileCoded(t, secure, protectedBy("privacy")(t, secure, root), "/zone/coded")
	encrypted := testbed.HDFSEncrypted(t)
	o := options(encrypted, encrypted.Scratch(t))
	silentWhileCoded(t, encrypted, o, "/coded")
	makeZone(t, encrypted, o.Root+"/zone")
	silentWhileCoded(t, encrypted, o, "/zone/coded")
}

func silentWhileCoded(t *testing.T, c *testbed.HDFSCluster, o Options, dir pfs.Path) {
	t.Helper()
	o.BlockSize, o.PartSize, o.Timeout = 4*small, 4*small, 3*time.Second
	code(t, c, open(t, o), dir)
	data := pfstest.Pattern(9, 9*small+77)
	for _, dn := range []string{"dn1", "dn2", "dn3"} {
		f := open(t, o)
		name := dir.Join(dn)
		w, err := f.Create(t.Context(), name, pfs.CreateOptions{})
		must(t, err)
		silent := false
		writeOnce(t, w, data, func(off int) {
			if off >= 3*small && !silent {
				silent = true
				c.Pause(t, dn)
			}
		})
		must(t, w.Close(t.Context()))
		pfstest.WantFile(t, open(t, o), name, data)
		c.Resume(t, dn)
		waitForUnits(t, f, name) // which the NameNode has the DataNode make again
		if st, err := f.status(t.Context(), name); err != nil || newCoding(st.policy).name != "XOR-2-1-1024k" {
			t.Errorf("%s is not erasure-coded, %v", name, err)
		}
		to := path.Join(t.TempDir(), "copy")
		c.Do(t, "fs", "-get", f.at(name), to)
		if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, data) {
			t.Errorf("Hadoop's client reads %d bytes of %s: %v", len(got), name, err)
		}
	}
}

// TestConformanceErasureCoded runs the suite in a directory with an erasure code.
func TestConformanceErasureCoded(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFS(t)
	top := open(t, options(c, c.Scratch(t)))
	code(t, c, top, "/coded")
	conform(t, c, pfstest.NoReplication, 100, func(t *testing.T, root string) pfs.FileSystem {
		if strings.Contains(t.Name(), "/Usage/") {
			t.Skip("a limit in bytes is multiplied by the number of replicas")
		}
		if in := top.at("/coded"); !strings.HasPrefix(root, in) {
			_, err := top.mkdirAt(t.Context(), in+root, 0o777)
			must(t, err)
			root = in + root
		}
		return open(t, options(c, root))
	})
}
