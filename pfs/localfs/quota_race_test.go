package localfs

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// treeOfHome returns the counted totals of /home in f.
func treeOfHome(t *testing.T, f *FS) *tree {
	t.Helper()
	_, err := f.Usage(t.Context(), "/home")
	must(t, err)
	return f.quotas.trees["/home"]
}

// wantExact fails unless the totals of f equal those that another instance counts in dir, without a
// recount, which would hide a difference.
func wantExact(t *testing.T, f *FS, dir string, counted time.Time) {
	t.Helper()
	got, want := treeOfHome(t, f), treeOfHome(t, openAt(t, dir, Options{}))
	got.mu.Lock()
	defer got.mu.Unlock()
	if got.used != want.used || got.claims != (need{}) {
		t.Errorf("sums are %+v and %+v claimed, want %+v", got.used, got.claims, want.used)
	}
	if got.doubted || !got.counted.Equal(counted) {
		t.Error("the sums were negative")
	}
}

// TestQuotaExact runs operations on one name that replace and remove each other's files. The totals
// must stay exact.
func TestQuotaExact(t *testing.T) {
	const large, rounds = 100_000, 300
	batch := func(f *FS, name pfs.Path, n int) {
		f.WriteBatch(t.Context(), []pfs.BatchEntry{{Path: name, Data: make([]byte, n)}})
	}
	truncate := func(f *FS, name pfs.Path, sizes ...int64) {
		h, err := f.OpenHandle(t.Context(), name, readWrite, 0)
		if err != nil {
			return
		}
		defer h.Close(t.Context())
		for _, size := range sizes {
			h.Truncate(t.Context(), size)
		}
	}
	tests := map[string][]func(f *FS, i int){
		"Commit": {
			func(f *FS, i int) { publish(t, f, "/home/f", large) },
			func(f *FS, i int) { publish(t, f, "/home/f", 1) },
			func(f *FS, i int) { f.Remove(t.Context(), "/home/f") },
		},
		"WriteBatch": {
			func(f *FS, i int) { batch(f, "/home/f", large) },
			func(f *FS, i int) { batch(f, "/home/f", 1) },
			func(f *FS, i int) { publish(t, f, "/home/f", 10) },
		},
		"Rename": {
			func(f *FS, i int) { batch(f, "/home/a", large); f.Rename(t.Context(), "/home/a", "/home/f") },
			func(f *FS, i int) { batch(f, "/home/b", 10); f.Rename(t.Context(), "/home/b", "/home/f") },
			func(f *FS, i int) { f.Rename(t.Context(), "/home/f", "/home/a") },
		},
		"Rename across the border": {
			func(f *FS, i int) { batch(f, "/a", large); f.Rename(t.Context(), "/a", "/home/f") },
			func(f *FS, i int) { f.Rename(t.Context(), "/home/f", "/b") },
			func(f *FS, i int) { batch(f, "/home/f", 10) },
		},
		"Truncate": {
			func(f *FS, i int) { batch(f, "/home/f", 10); truncate(f, "/home/f", large, 0) },
			func(f *FS, i int) { truncate(f, "/home/f", 2*large, 10) },
			func(f *FS, i int) { f.Remove(t.Context(), "/home/f") },
			func(f *FS, i int) { batch(f, "/home/g", 10); f.Rename(t.Context(), "/home/g", "/home/f") },
		},
		"RemoveTree": {
			func(f *FS, i int) { f.Mkdir(t.Context(), "/home/d", 0o755); batch(f, "/home/d/f", large) },
			func(f *FS, i int) { publish(t, f, "/home/d/f", 10) },
			func(f *FS, i int) { truncate(f, "/home/d/f", 2*large, 10) },
			func(f *FS, i int) { f.RemoveTree(t.Context(), "/home/d") },
		},
		"Sweep": {
			func(f *FS, i int) { suspend(t, f, "/home/f", large) },
			func(f *FS, i int) { suspend(t, f, "/home/f", 10) },
			func(f *FS, i int) { f.Sweep(t.Context(), "/", -time.Hour) },
			func(f *FS, i int) { publish(t, f, "/home/f", 10) },
		},
	}
	for name, actors := range tests {
		t.Run(name, func(t *testing.T) {
			f, dir := openHome(t, Options{NoSync: true}, 1<<30, 0)
			counted := treeOfHome(t, f).counted
			var wg sync.WaitGroup
			for _, act := range actors {
				wg.Go(func() {
					for i := range rounds {
						act(f, i)
					}
				})
			}
			wg.Wait()
			wantExact(t, f, dir, counted)
		})
	}
}

// suspend stages n bytes of name and suspends the upload.
func suspend(t *testing.T, f *FS, name pfs.Path, n int) error {
	w, err := f.Create(t.Context(), name, pfs.CreateOptions{ID: id})
	if err != nil {
		return err
	}
	w.WriteAt(t.Context(), make([]byte, n), 0)
	return w.Suspend(t.Context())
}

// TestQuotaReplacedDuringSync replaces or removes the target of a Commit while the Commit waits for
// the disk.
func TestQuotaReplacedDuringSync(t *testing.T) {
	for name, meanwhile := range map[string]func(f *FS) error{
		"Commit":   func(f *FS) error { return publish(t, f, "/home/f", 10) },
		"Remove":   func(f *FS) error { return f.Remove(t.Context(), "/home/f") },
		"Rename":   func(f *FS) error { return f.Rename(t.Context(), "/home/f", "/home/g") },
		"Truncate": func(f *FS) error { return shorten(t, f, "/home/f", 0) },
	} {
		t.Run(name, func(t *testing.T) {
			f, dir := openHome(t, Options{NoSync: true}, 1<<20, 0)
			write(t, f, "/home/f", 200_000)
			counted := treeOfHome(t, f).counted
			syncs := 0
			f.sync = func(*os.File) error {
				if syncs++; syncs > 1 {
					return nil
				}
				return meanwhile(f)
			}
			must(t, publish(t, f, "/home/f", 1))
			wantExact(t, f, dir, counted)
		})
	}
}

// shorten makes the file name n bytes long.
func shorten(t *testing.T, f *FS, name pfs.Path, n int64) error {
	h, err := f.OpenHandle(t.Context(), name, readWrite, 0)
	if err != nil {
		return err
	}
	defer h.Close(t.Context())
	return h.Truncate(t.Context(), n)
}

// TestQuotaOfNameless writes to a file that was removed or replaced: its bytes count against the
// quota while the handle is open.
func TestQuotaOfNameless(t *testing.T) {
	f, _ := openHome(t, Options{NoSync: true}, 1<<20, 0)
	for _, unname := range []func() error{
		func() error { return f.Remove(t.Context(), "/home/f") },
		func() error { return publish(t, f, "/home/f", 0) },
		func() error { return f.Remove(t.Context(), "/home/f") },
	} {
		if _, err := f.Stat(t.Context(), "/home/f"); err != nil {
			write(t, f, "/home/f", 10)
		}
		h, err := f.OpenHandle(t.Context(), "/home/f", readWrite, 0)
		must(t, err)
		must(t, unname())
		must(t, h.Truncate(t.Context(), 600_000))
		_, err = f.Create(t.Context(), "/home/g", pfs.CreateOptions{Size: 600_000})
		pfstest.WantKind(t, err, pfs.Quota)
		_, err = h.WriteAt(t.Context(), make([]byte, 10), 2<<20)
		pfstest.WantKind(t, err, pfs.Quota)
		must(t, h.Close(t.Context()))
		if u := treeOfHome(t, f).usage(); u.Bytes != 0 {
			t.Errorf("%d bytes of a file without a name are used after Close", u.Bytes)
		}
	}
}

// TestQuotaOfStagedFiles counts abandoned uploads as files.
func TestQuotaOfStagedFiles(t *testing.T) {
	f, dir := openHome(t, Options{NoSync: true}, 0, 3)
	write(t, f, "/home/f", 10)
	suspended := func(name pfs.Path) error {
		w, err := f.Create(t.Context(), name, pfs.CreateOptions{ID: id})
		if err != nil {
			return err
		}
		return w.Suspend(t.Context())
	}
	must(t, suspended("/home/a"))
	must(t, suspended("/home/b"))
	must(t, suspended("/home/b")) // again
	wantUsage(t, f, "/home", 10, 1, 0)
	const message = "0 of the limit of 3 files and directories for \"home\" are left, and this asks for 1; unfinished uploads hold 2: remove files or unfinished uploads, or ask for a larger quota"
	for _, g := range []*FS{f, openAt(t, dir, Options{})} {
		err := g.Mkdir(t.Context(), "/home/d", 0o755)
		pfstest.WantKind(t, err, pfs.Quota)
		if got := err.(*pfs.Error).Err.Error(); got != message {
			t.Errorf("error %q,\nwant %q", got, message)
		}
	}
	write(t, f, "/home/f", 20) // needs no quota
	must(t, publishID(t, f, "/home/a"))
	pfstest.WantKind(t, suspended("/home/c"), pfs.Quota)
	_, _, err := f.Sweep(t.Context(), "/", -time.Hour)
	must(t, err)
	must(t, f.Remove(t.Context(), "/home/a"))
	must(t, f.Mkdir(t.Context(), "/home/d", 0o755))
	must(t, suspended("/home/d/a"))
	must(t, f.RemoveTree(t.Context(), "/home/d"))
	must(t, f.Mkdir(t.Context(), "/home/d", 0o755))
	wantExact(t, f, dir, treeOfHome(t, f).counted)
}

// publishID commits the upload of name.
func publishID(t *testing.T, f *FS, name pfs.Path) error {
	w, err := f.Create(t.Context(), name, pfs.CreateOptions{ID: id, Reopen: true})
	if err != nil {
		return err
	}
	defer w.Close(t.Context())
	_, err = w.Commit(t.Context(), pfs.CommitOptions{})
	return err
}

// TestQuotaOfReplacements begins several uploads of the same existing file. None of them needs
// quota for the bytes that it will replace.
func TestQuotaOfReplacements(t *testing.T) {
	for name, test := range map[string]struct{ bytes, files int64 }{
		"bytes": {100_000, 0},
		"files": {0, 2},
	} {
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " kept ", kept), func(t *testing.T) {
				f, _ := openHome(t, Options{NoSync: true}, test.bytes, test.files)
				write(t, f, "/home/f", 50_000)
				for i := range 3 {
					w, err := f.Create(t.Context(), "/home/f", pfs.CreateOptions{ID: fmt.Sprint(id, i), Size: 50_000})
					if i == 2 {
						pfstest.WantKind(t, err, pfs.Quota)
						break
					}
					must(t, err)
					defer w.Close(t.Context())
					if kept {
						_, err = w.WriteAt(t.Context(), make([]byte, 50_000), 0)
						must(t, err)
						must(t, w.Suspend(t.Context()))
					}
				}
			})
		}
	}
}

// TestQuotaNegative removes files that another instance wrote. Impossible totals are counted again
// at once.
func TestQuotaNegative(t *testing.T) {
	f, dir := openHome(t, Options{}, 1<<20, 0)
	write(t, f, "/home/f", 1000)
	wantUsage(t, f, "/home", 1000, 1, 0)
	g := openAt(t, dir, Options{})
	write(t, g, "/home/a", 5000)
	must(t, f.Remove(t.Context(), "/home/a"))
	for {
		u, err := f.Usage(t.Context(), "/home")
		must(t, err)
		if u.Bytes == 1000 && u.Files == 1 {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("usage is still %+v", u)
		}
	}
}

// TestRemoveTreeLeavesNothing makes a RemoveTree fail after it has moved directories beside the
// tree, while another process exchanges one of them for a link.
func TestRemoveTreeLeavesNothing(t *testing.T) {
	for name, fails := range map[string]bool{"fails": true, "link": false} {
		t.Run(name, func(t *testing.T) {
			f, w := watchStore(t, openTop)
			for _, chain := range []string{"a", "b"} {
				deep := w.path + "/d"
				for range posix.MaxDepth + 1 {
					deep += "/" + chain
				}
				must(t, os.MkdirAll(deep, 0o755))
			}
			lifts := 0
			w.rename = func(string, string) error {
				lifts++
				switch {
				case lifts == 2 && fails:
					return syscall.EIO
				case lifts == 1 && !fails:
					return exchangeLast(w.path+"/d", "a")
				}
				return nil
			}
			err := f.RemoveTree(t.Context(), "/d")
			if (err != nil) != fails {
				t.Errorf("RemoveTree: %v", err)
			}
			want := ""
			if fails {
				want = "d"
			}
			if got := namesIn(t, f, ""); got != want {
				t.Errorf("left are %q, want %q", got, want)
			}
		})
	}
}

// exchangeLast replaces the directory that is posix.MaxDepth levels of that name below dir by a link.
func exchangeLast(dir, name string) error {
	for range posix.MaxDepth {
		dir += "/" + name
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Symlink(".", dir)
}
