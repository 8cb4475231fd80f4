package fuse

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/cachefs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// mountCached mounts a store with a cache, read-only.
func mountCached(t testing.TB, store pfs.FileSystem, opts Options) (string, *cachefs.FS) {
	t.Helper()
	c, err := cachefs.New(store, cachefs.Options{Dirs: []string{t.TempDir()}, Size: 1 << 30, Reserve: 1, Settle: -1})
	must(t, err)
	t.Cleanup(func() { c.Close() })
	opts.ReadOnly = true
	opts.Cache = func() any { return c.Status() }
	return mount(t, c, opts), c
}

// TestPassthrough reads a file that becomes whole in the cache, and replaces it while it is open.
func TestPassthrough(t *testing.T) {
	store := memfs.New(memfs.Options{})
	old, changed := pfstest.Pattern(1, 10<<20), pfstest.Pattern(2, 9<<20)
	pfstest.WriteFile(t, store, "/f", old)
	dir, c := mountCached(t, store, Options{OpenMode: Passthrough, Timeout: 50 * time.Millisecond})
	name := filepath.Join(dir, "f")
	read := func(want []byte) {
		t.Helper()
		got, err := os.ReadFile(name)
		must(t, err)
		if !bytes.Equal(got, want) {
			t.Fatal("wrong bytes")
		}
	}
	read(old)
	time.Sleep(300 * time.Millisecond) // until it is on the disk
	st := (entry{dir: dir}).status()
	if os.Geteuid() == 0 && st.OpenMode != Passthrough || st.Cache == nil {
		t.Errorf("status %+v", st)
	}
	before := c.Status()
	f, err := os.Open(name)
	must(t, err)
	defer f.Close()
	m, err := syscall.Mmap(int(f.Fd()), 0, len(old), syscall.PROT_READ, syscall.MAP_SHARED)
	must(t, err)
	if !bytes.Equal(m, old) {
		t.Error("wrong bytes in memory")
	}
	must(t, syscall.Munmap(m))
	got := make([]byte, len(old))
	if _, err := io.ReadFull(f, got); err != nil || !bytes.Equal(got, old) {
		t.Errorf("wrong bytes, %v", err)
	}
	if after := c.Status(); st.OpenMode == Passthrough && (after.Hit != before.Hit || after.Missed != before.Missed) {
		t.Errorf("the kernel asked for bytes: %+v, then %+v", before, after)
	}

	pfstest.WriteFile(t, store, "/f", changed)
	time.Sleep(100 * time.Millisecond)
	read(changed)
	read(changed)
	if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, old) {
		t.Errorf("the open file has other bytes, %v", err)
	}
	f.Close()
	read(changed)
}

// TestNoOpen reads small files on a mount to which the kernel sends no opens.
func TestNoOpen(t *testing.T) {
	store := memfs.New(memfs.Options{})
	const files = mostUnopened + 100
	for i := range files {
		pfstest.WriteFile(t, store, pfs.Path(fmt.Sprintf("/f%d", i)), pfstest.Pattern(uint64(i), 5000))
	}
	dir, _ := mountCached(t, store, Options{OpenMode: NoOpen, Timeout: 50 * time.Millisecond})
	for range 2 {
		for i := range files {
			got, err := os.ReadFile(fmt.Sprintf("%s/f%d", dir, i))
			must(t, err)
			if !bytes.Equal(got, pfstest.Pattern(uint64(i), 5000)) {
				t.Fatalf("wrong bytes in file %d", i)
			}
		}
	}
	pfstest.WriteFile(t, store, "/f7", []byte("changed"))
	time.Sleep(100 * time.Millisecond)
	if got, err := os.ReadFile(dir + "/f7"); err != nil || string(got) != "changed" {
		t.Errorf("%.20q, %v", got, err)
	}
	if st := (entry{dir: dir}).status(); st.OpenMode != NoOpen {
		t.Errorf("status %+v", st)
	}
	_, err := Mount(t.Context(), store, t.TempDir(), Options{OpenMode: NoOpen})
	pfstest.WantKind(t, err, pfs.Invalid)
}
