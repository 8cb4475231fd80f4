package fuse

import (
	"bytes"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/stagefs"
)

// mountStaged mounts a store that only appends, with staging.
func mountStaged(t *testing.T, opts Options) (dir string, store *memfs.FS, f *stagefs.FS) {
	needFuse(t)
	store = memfs.New(memfs.Options{Without: pfs.CanWriteRandom})
	f, err := stagefs.New(store, stagefs.Options{Dir: t.TempDir() + "/staging"})
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return mount(t, f, opts), store, f
}

// TestStaged: programs that write anywhere work on a store that only appends, and close waits for the store.
func TestStaged(t *testing.T) {
	dir, store, f := mountStaged(t, Options{})
	name := dir + "/f"
	must(t, os.WriteFile(name, large(), 0o640))
	before, err := os.Stat(name)
	must(t, err)
	reader, err := os.Open(name)
	must(t, err)
	defer reader.Close()
	want := large()
	change := func(off int, p string) []byte {
		copy(want[off:], p)
		return []byte(p)
	}
	check := func(what string) {
		t.Helper()
		if got := pfstest.ReadFile(t, store, "/f"); !bytes.Equal(got, want) {
			t.Errorf("%s: the store has %d other bytes", what, len(got))
		}
		if got, err := io.ReadAll(io.NewSectionReader(reader, 0, 1<<30)); !bytes.Equal(got, want) || err != nil {
			t.Errorf("%s: an older descriptor reads %d bytes, %v", what, len(got), err)
		}
	}

	w, err := os.OpenFile(name, os.O_RDWR, 0)
	must(t, err)
	_, err = w.WriteAt(change(100_000, "random"), 100_000)
	must(t, err)
	must(t, w.Sync())
	check("fsync")
	mem, err := syscall.Mmap(int(w.Fd()), 0, len(want), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	must(t, err)
	copy(mem[5000:], change(5000, "mapped"))
	must(t, syscall.Munmap(mem))
	must(t, w.Close())
	check("a mapping and close")
	want = want[:1000]
	must(t, os.Truncate(name, 1000))
	check("truncate")
	if after, err := os.Stat(name); err != nil || !os.SameFile(before, after) || after.Mode() != 0o640 {
		t.Errorf("%v, %v", after, err)
	}

	// A file without a name lives on.
	w, err = os.OpenFile(name, os.O_RDWR, 0)
	must(t, err)
	must(t, os.Remove(name))
	_, err = w.WriteAt([]byte("x"), 10)
	must(t, err)
	want[10] = 'x'
	got := make([]byte, len(want))
	if _, err := w.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
		t.Errorf("without a name: %v", err)
	}
	must(t, w.Close())
	pfstest.WantNames(t, store, "/")
	if left := f.Status(); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

// TestStagedOverQuota: close returns the error of an upload, and the bytes are kept.
func TestStagedOverQuota(t *testing.T) {
	dir, store, f := mountStaged(t, Options{})
	must(t, os.Mkdir(dir+"/d", 0o755))
	must(t, os.WriteFile(dir+"/d/f", []byte("content"), 0o644))
	must(t, store.SetQuota(t.Context(), "/d", 100, 0))
	w, err := os.OpenFile(dir+"/d/f", os.O_RDWR, 0)
	must(t, err)
	_, err = w.WriteAt([]byte("far"), 1000)
	must(t, err)
	if err := w.Sync(); !errors.Is(err, syscall.EDQUOT) {
		t.Errorf("fsync: %v", err)
	}
	if err := w.Close(); !errors.Is(err, syscall.EDQUOT) {
		t.Errorf("close: %v", err)
	}
	pfstest.WantFile(t, store, "/d/f", []byte("content"))
	if info, err := os.Stat(dir + "/d/f"); err != nil || info.Size() != 1003 {
		t.Errorf("%v, %v", info, err)
	}
	if left := f.Status(); len(left) != 1 || left[0].State != "pending" {
		t.Errorf("left: %+v", left)
	}
	must(t, store.SetQuota(t.Context(), "/d", 0, 0))
	must(t, f.Flush(t.Context()))
	if info := pfstest.MustStat(t, store, "/d/f"); info.Size != 1003 {
		t.Errorf("%+v", info)
	}
}
