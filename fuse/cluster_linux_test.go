package fuse

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/cachefs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/stagefs"
)

// TestHDFS: on HDFS, with staging, what programs have written is there when they have closed it, and there are no
// links and special files.
func TestHDFS(t *testing.T) {
	needFuse(t)
	c := testbed.HDFS(t)
	store, err := hdfsfs.New(t.Context(), hdfsfs.Options{
		NameNodes: c.NameNodes, Root: c.Scratch(t), User: c.Superuser, BlockSize: 1 << 20,
	})
	must(t, err)
	t.Cleanup(func() { store.Close() })
	f, err := stagefs.New(store, stagefs.Options{Dir: t.TempDir() + "/staging"})
	must(t, err)
	t.Cleanup(func() { f.Close() })
	dir := mount(t, f, Options{Squash: true})

	must(t, os.WriteFile(dir+"/tmp", large(), 0o640)) // as programs save: write a temporary, rename it
	must(t, os.WriteFile(dir+"/saved", []byte("old"), 0o644))
	must(t, os.Rename(dir+"/tmp", dir+"/saved"))
	if b, err := os.ReadFile(dir + "/saved"); !bytes.Equal(b, large()) || err != nil {
		t.Errorf("%d bytes were saved, %v", len(b), err)
	}
	_, err = write(dir+"/log", os.O_CREATE|os.O_APPEND, "one\n")
	must(t, err)
	_, err = write(dir+"/log", os.O_APPEND, "two\n")
	must(t, err)
	if b, err := read(dir + "/log"); b != "one\ntwo\n" || err != nil {
		t.Errorf("the log is %q, %v", b, err)
	}
	_, err = write(dir+"/log", os.O_TRUNC, "new")
	must(t, err)
	if b, err := read(dir + "/log"); b != "new" || err != nil {
		t.Errorf("after truncation: %q, %v", b, err)
	}
	changed := large()
	changed[0] = 'x'
	_, err = write(dir+"/saved", 0, "x")
	must(t, err)
	if b := pfstest.ReadFile(t, store, "/saved"); !bytes.Equal(b, changed) {
		t.Errorf("a random write left %d bytes", len(b))
	}
	must(t, os.Mkdir(dir+"/d", 0o750))
	must(t, os.Rename(dir+"/log", dir+"/d/log"))
	must(t, os.Chmod(dir+"/d/log", 0o600))
	if info, err := os.Stat(dir + "/d/log"); err != nil || info.Mode() != 0o600 || info.Size() != 3 {
		t.Errorf("%v, %v", info, err)
	}
	must(t, syscall.Setxattr(dir+"/saved", "user.a", []byte("v"), 0))
	for what, err := range map[string]error{
		"symlink": os.Symlink("x", dir+"/s"), "link": os.Link(dir+"/saved", dir+"/l"), "fifo": syscall.Mkfifo(dir+"/p", 0o600),
	} {
		if !errors.Is(err, syscall.EOPNOTSUPP) {
			t.Errorf("%s: %v", what, err)
		}
	}
	must(t, os.RemoveAll(dir+"/d"))
	if all, err := allBelow(dir); err != nil || all != fmt.Sprintf(" d--------- 0\n/saved ---------- %d", len(large())) {
		t.Errorf("in the end there is\n%v, %v", all, err)
	}
}

// TestHDFSCached reads files of HDFS through a cache.
func TestHDFSCached(t *testing.T) {
	needFuse(t)
	c := testbed.HDFS(t)
	store, err := hdfsfs.New(t.Context(), hdfsfs.Options{NameNodes: c.NameNodes, Root: c.Scratch(t), User: c.Superuser})
	must(t, err)
	t.Cleanup(func() { store.Close() })
	readCached(t, store, pfs.Root)
}

// readCached reads files below root through mounts with a cache that is smaller than they are, so that some
// are evicted. The second mount finds in the cache what the first one left.
func readCached(t *testing.T, store pfs.FileSystem, root pfs.Path) {
	contents := map[string][]byte{}
	const last = "f20" // the last one that is read, when there is room for it
	for i := range 21 {
		size := 10_000 + i
		if i < 4 {
			size = 5<<20 + i
		}
		name := fmt.Sprintf("f%d", i)
		contents[name] = pfstest.Pattern(uint64(i), size)
		pfstest.WriteFile(t, store, root.Join(name), contents[name])
	}
	cache := t.TempDir()
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarted=%v", restarted), func(t *testing.T) {
			c, err := cachefs.New(store, cachefs.Options{Dirs: []string{cache}, Size: 12 << 20, Reserve: 1, Settle: -1})
			must(t, err)
			t.Cleanup(func() { c.Close() })
			dir := mount(t, c, Options{Root: root, Squash: true, ReadOnly: true, OpenMode: Passthrough})
			compare := func(name string) {
				t.Helper()
				if got, err := os.ReadFile(dir + "/" + name); err != nil || !bytes.Equal(got, contents[name]) {
					t.Errorf("%s: %d wrong bytes, %v", name, len(got), err)
				}
			}
			if restarted {
				compare(last)
				if st := c.Status(); st.Fetched > 0 || st.Passed > 0 {
					t.Errorf("a cached file is read from the store: %+v", st)
				}
			}
			for range 2 {
				for i := range len(contents) - 1 {
					compare(fmt.Sprintf("f%d", i))
				}
			}
			evicted := func() bool { d := c.Status().Dirs[0]; return d.Evicted > 0 && d.Used <= d.Limit }
			for end := time.Now().Add(20 * time.Second); !evicted(); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("too little was evicted: %+v", c.Status())
				}
			}
			compare(last)
		})
	}
}
