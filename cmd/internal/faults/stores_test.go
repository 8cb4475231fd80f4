package faults

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
)

var (
	storesFiles = flag.Int("files", 200, "number of files in the tree that goes through the stores")
	storesBytes = flag.Int64("bytes", 100<<20, "their size together")
)

// TestStores sends a tree from the disk to a real HDFS, from there to a real CephFS and back to the
// disk. On each way the service is killed, and a DataNode if there is one. Each copy is repeated
// until it succeeds, and then the tree is the same. Each place is emptied when the next one has the
// tree, so the disk holds at most four copies of it.
func TestStores(t *testing.T) {
	needCeph(t)
	hdfs := testbed.HDFSAlone(t)
	root := hdfs.Scratch(t)
	ceph := testbed.Ceph(t)
	// A NameNode remembers for minutes how many blocks it has assigned to a DataNode that is away,
	// and assumes that each is as large as the block to be placed. Large blocks would soon find no
	// space.
	config := filepath.Join(t.TempDir(), "pfsd.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `
datacenters:
  hdfs:
    store: hdfs://%s
    options: {conf-dir: %s, block-size: 1M, part-size: 32M}
  ceph:
    store: cephfs://%s/%s
    options: {user: %s, keyring: %s}
`, root, hdfs.ConfDir, ceph.Monitors, ceph.FileSystem, ceph.User, ceph.Keyring), 0o600))
	s := &way{scene: newScene(t, "--config", config)}
	s.makeTree(filepath.Join(s.work, "tree"))
	sums := s.sums("tree")
	t.Cleanup(func() { s.run(s.command("", "rm", "-r", "-f", treeOnCeph)) })

	kill := func(datanode string) fault {
		return fault{"kill of " + datanode, func() { hdfs.Kill(t, datanode) }}
	}
	killService := fault{"kill of pfsd", func() { s.restartServer(nil) }}
	up, across := []fault{killService}, []fault{killService}
	if !testing.Short() { // TestStreamToHDFS kills a DataNode in make test
		up, across = append([]fault{kill("dn1")}, up...), append(across, kill("dn2"))
	}
	s.copy("tree", treeOnHDFS, up...)
	must(t, os.RemoveAll(filepath.Join(s.work, "tree")))
	hdfs.Start(t, "dn1")
	hdfs.Settle(t) // blocks written meanwhile may be on one DataNode alone
	s.copy(treeOnHDFS, treeOnCeph, across...)
	hdfs.Start(t, "dn2")
	if s.struck == 0 {
		t.Error("all copies to the stores ended before anything was broken")
	}
	s.must("rm", "-r", treeOnHDFS)
	s.copy(treeOnCeph, "back", killService)
	if got := s.sums("back"); got != sums {
		t.Errorf("the files are not the same:\n%.1000s\nwant\n%.1000s", got, sums)
	}
}

// The tree on the stores.
const (
	treeOnHDFS = "/pfs/hdfs/home/alice/tree"
	treeOnCeph = "/pfs/ceph/home/alice/tree"
)

// way is a scenario that copies a tree.
type way struct {
	*scene
	size   int64 // of the tree
	struck int   // faults that happened while something was copied
}

// fault is a fault during a copy.
type fault struct {
	name string
	do   func()
}

// makeTree makes files of all sizes: one that is a quarter of the total, some in the middle, many
// small ones, and an empty one.
func (w *way) makeTree(dir string) {
	w.Helper()
	sizes := []int64{0, *storesBytes / 4}
	for range *storesFiles / 50 {
		sizes = append(sizes, *storesBytes/4/int64(*storesFiles/50))
	}
	rest := *storesBytes - 2*(*storesBytes/4)
	for n := *storesFiles - len(sizes); n > 0; n-- {
		size := rest / int64(n)
		rest -= size
		sizes = append(sizes, size)
	}
	for i, size := range sizes {
		sub := filepath.Join(dir, fmt.Sprintf("d%d", i%17), fmt.Sprintf("e%d", i%5))
		must(w.T, os.MkdirAll(sub, 0o755))
		must(w.T, os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%d", i)), w.random(int(size)), 0o644))
		w.size += size
	}
}

// copy copies the tree while the faults happen, each when more of it has arrived, and again until
// it succeeds. Then it compares both trees by digest.
func (w *way) copy(from, to string, faults ...fault) {
	w.Helper()
	began := time.Now()
	c := w.command("", "cp", "-r", "-q", from+"/", to)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	must(w.T, c.Start())
	ended := make(chan int, 1)
	go func() { ended <- exitCode(c.Wait()) }()
	var struck []string
	done := false
	for i, fault := range faults {
		done = done || w.await(to, w.size*int64(i+1)/int64(len(faults)+2), ended)
		if !done {
			struck = append(struck, fault.name)
		}
		fault.do()
	}
	code := <-ended
	w.Logf("%s to %s, while it copied %q: exit %d after %v\n%s",
		from, to, struck, code, time.Since(began).Round(time.Millisecond), &out)
	w.struck += len(struck)
	if code != 0 {
		w.must("cp", "-r", "-q", from+"/", to)
		w.Logf("%s to %s: copied after %v", from, to, time.Since(began).Round(time.Millisecond))
	}
	w.must("verify", from, to)
	w.Logf("%s to %s: the same after %v", from, to, time.Since(began).Round(time.Millisecond))
}

// must runs paddlectl, which must succeed.
func (w *way) must(args ...string) {
	w.Helper()
	if code, out := w.run(w.command("", args...)); code != 0 {
		w.Fatalf("paddlectl %v: exit %d\n%s", args, code, out)
	}
}

// poll is the interval between checks of the progress of a copy.
const poll = 100 * time.Millisecond

// await waits until size bytes have arrived, or the copy has ended; it reports the latter.
func (w *way) await(to string, size int64, ended chan int) bool {
	for w.arrived(to) < size {
		select {
		case code := <-ended:
			ended <- code
			return true
		case <-time.After(poll):
		}
	}
	return false
}

// arrived returns how many bytes of the tree are published at its target.
func (w *way) arrived(to string) (n int64) {
	if !filepath.IsAbs(to) {
		_ = filepath.WalkDir(filepath.Join(w.work, to), func(_ string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				if info, err := e.Info(); err == nil {
					n += info.Size()
				}
			}
			return nil
		})
		return n
	}
	out, err := w.command("", "du", "-s", "--json", "--", to).Output()
	if err != nil {
		return 0 // it does not exist yet
	}
	var sum struct{ Bytes int64 }
	must(w.T, json.Unmarshal(out, &sum))
	return sum.Bytes
}

// sums returns a line for every file of a tree on the disk, with its SHA-256, using programs that
// are not ours.
func (w *way) sums(dir string) string {
	w.Helper()
	c := exec.Command("sh", "-c", "find . -type f -exec sha256sum {} + | sort -k 2")
	c.Dir = filepath.Join(w.work, dir)
	out, err := c.Output()
	must(w.T, err)
	return string(out)
}
