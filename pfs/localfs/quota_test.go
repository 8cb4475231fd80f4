package localfs

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// openHome returns a store with a directory /home that has this quota.
func openHome(t *testing.T, opts Options, maxBytes, maxFiles int64) (*FS, string) {
	t.Helper()
	f, dir := openStore(t, opts)
	must(t, f.Mkdir(t.Context(), "/home", 0o755))
	must(t, f.SetQuota(t.Context(), "/home", maxBytes, maxFiles))
	return f, dir
}

// TestQuotaMessage checks that a refusal names the file, the directory with the quota, the limit,
// the remaining and the needed space, and what to do.
func TestQuotaMessage(t *testing.T) {
	const way = ": remove files or ask for a larger quota"
	create := func(f *FS, size int64) error {
		_, err := f.Create(t.Context(), "/home/a/g", pfs.CreateOptions{Size: size})
		return err
	}
	tests := []struct {
		name         string
		bytes, files int64 // the quota of /home
		ofA          int64 // that of /home/a, in bytes
		do           func(f *FS) error
		path         pfs.Path // of the file
		want         string
	}{
		{"bytes", 3 << 20, 0, 0, func(f *FS) error { return create(f, 2<<20) }, "/home/a/g",
			`1.0 MiB (1048576 bytes) of the limit of 3.0 MiB (3145728 bytes) for "home" are left, and this asks for 2.0 MiB (2097152 bytes)`},
		{"few bytes", 2<<20 + 5, 100, 0, func(f *FS) error { return create(f, 6) }, "/home/a/g",
			`5 bytes of the limit of 2.0 MiB (2097157 bytes) for "home" are left, and this asks for 6 bytes`},
		{"more than can be added", 3 << 20, 0, 0, func(f *FS) error { return create(f, math.MaxInt64) }, "/home/a/g",
			`1.0 MiB (1048576 bytes) of the limit of 3.0 MiB (3145728 bytes) for "home" are left, and this asks for 8.0 EiB (9223372036854775807 bytes)`},
		{"files", 3 << 20, 2, 0, func(f *FS) error { return f.Mkdir(t.Context(), "/home/a/d", 0o755) }, "/home/a/d",
			`0 of the limit of 2 files and directories for "home" are left, and this asks for 1`},
		{"the inner of two", 3 << 20, 0, 1000, func(f *FS) error { return create(f, 2<<20) }, "/home/a/g",
			`1000 bytes of the limit of 1000 bytes for "a" are left, and this asks for 2.0 MiB (2097152 bytes)`},
		{"a link", 2<<20 + 5, 0, 0, func(f *FS) error { return f.Symlink(t.Context(), "target", "/home/a/l") }, "/home/a/l",
			`5 bytes of the limit of 2.0 MiB (2097157 bytes) for "home" are left, and this asks for 6 bytes`},
		{"a batch", 3 << 20, 0, 0, func(f *FS) error {
			return f.WriteBatch(t.Context(), []pfs.BatchEntry{{Path: "/home/a/g", Data: make([]byte, 2<<20)}})[0]
		}, "/home/a/g",
			`1.0 MiB (1048576 bytes) of the limit of 3.0 MiB (3145728 bytes) for "home" are left, and this asks for 2.0 MiB (2097152 bytes)`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, _ := openHome(t, Options{NoSync: true}, 0, 0)
			must(t, f.Mkdir(t.Context(), "/home/a", 0o755))
			write(t, f, "/home/f", 2<<20)
			must(t, f.SetQuota(t.Context(), "/home", test.bytes, test.files))
			must(t, f.SetQuota(t.Context(), "/home/a", test.ofA, 0))
			var e *pfs.Error
			if err := test.do(f); !errors.As(err, &e) || e.Kind != pfs.Quota || e.Path != test.path || e.Err.Error() != test.want+way {
				t.Errorf("error %q,\nwant %s: %s%s", err, test.path, test.want, way)
			}
		})
	}
}

// TestQuotaOfSameNames has two uploads of one ID and one name, in two directories: an open one must
// not hide the other.
func TestQuotaOfSameNames(t *testing.T) {
	f, _ := openHome(t, Options{}, 1<<20, 0)
	for _, d := range []pfs.Path{"/home/a", "/home/b"} {
		must(t, f.Mkdir(t.Context(), d, 0o755))
	}
	must(t, stage(t, f, "/home/a/f", pfs.CreateOptions{ID: id}, make([]byte, 1000)).Suspend(t.Context()))
	b := stage(t, f, "/home/b/f", pfs.CreateOptions{ID: id}, make([]byte, 100))
	wantUsage(t, f, "/home", 1100, 0, 2)
	a := stage(t, f, "/home/a/f", pfs.CreateOptions{ID: id}, make([]byte, 1000))
	wantUsage(t, f, "/home", 1100, 0, 2)
	must(t, a.Suspend(t.Context()))
	wantUsage(t, f, "/home", 1100, 0, 2)
	must(t, b.Close(t.Context()))
	wantUsage(t, f, "/home", 1000, 0, 2)
}

// TestQuotaSetAgain lifts a quota, makes files, and sets it again.
func TestQuotaSetAgain(t *testing.T) {
	f, _ := openHome(t, Options{}, 1<<20, 0)
	write(t, f, "/home/f", 1000)
	wantUsage(t, f, "/home", 1000, 1, 0)
	must(t, f.SetQuota(t.Context(), "/home", 0, 0))
	write(t, f, "/home/g", 500)
	must(t, f.SetQuota(t.Context(), "/home", 1<<20, 0))
	wantUsage(t, f, "/home", 1500, 2, 0)
}

// TestQuotaCountsStaged follows the bytes of uploads through every outcome.
func TestQuotaCountsStaged(t *testing.T) {
	f, dir := openHome(t, Options{}, 1<<20, 0)
	w := stage(t, f, "/home/a", pfs.CreateOptions{ID: id, Size: 600_000}, make([]byte, 100))
	wantUsage(t, f, "/home", 600_000, 0, 0)
	_, err := f.Create(t.Context(), "/home/b", pfs.CreateOptions{Size: 600_000})
	pfstest.WantKind(t, err, pfs.Quota)
	b := stage(t, f, "/home/b", pfs.CreateOptions{}, make([]byte, 400_000))
	_, err = b.WriteAt(t.Context(), make([]byte, 100_000), 400_000)
	pfstest.WantKind(t, err, pfs.Quota)
	must(t, b.Close(t.Context()))
	wantUsage(t, f, "/home", 600_000, 0, 0)

	_, err = w.WriteAt(t.Context(), make([]byte, 700_000), 0)
	must(t, err)
	must(t, w.Suspend(t.Context()))
	wantUsage(t, f, "/home", 700_000, 0, 0)
	w, err = f.Create(t.Context(), "/home/a", pfs.CreateOptions{ID: id, Reopen: true})
	must(t, err)
	wantUsage(t, f, "/home", 700_000, 0, 0)
	must(t, w.Suspend(t.Context()))
	_, _, err = f.Sweep(t.Context(), "/", 0)
	must(t, err)
	wantUsage(t, f, "/home", 0, 0, 0)

	w = stage(t, f, "/home/a", pfs.CreateOptions{}, make([]byte, 700_000))
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: 650_000})
	must(t, err)
	wantUsage(t, f, "/home", 650_000, 1, 0)
	must(t, f.Mkdir(t.Context(), "/home/d", 0o755))
	must(t, stage(t, f, "/home/d/c", pfs.CreateOptions{}, make([]byte, 100_000)).Suspend(t.Context()))
	wantUsage(t, f, "/home", 750_000, 1, 1)
	must(t, f.Remove(t.Context(), "/home/d"))
	wantUsage(t, f, "/home", 650_000, 1, 0)

	// Another instance, which counts, finds the same.
	wantUsage(t, openAt(t, dir, Options{}), "/home", 650_000, 1, 0)
}

// TestQuotaIsSeenByOthers sets a quota through one instance and reaches it through another.
func TestQuotaIsSeenByOthers(t *testing.T) {
	f, dir := openStore(t, Options{})
	g := openAt(t, dir, Options{})
	must(t, f.Mkdir(t.Context(), "/home", 0o755))
	write(t, g, "/home/f", 1000)
	must(t, f.SetQuota(t.Context(), "/home", 1500, 0))
	_, err := g.Create(t.Context(), "/home/g", pfs.CreateOptions{Size: 1000})
	pfstest.WantKind(t, err, pfs.Quota)
	must(t, f.Rename(t.Context(), "/home", "/moved"))
	_, err = g.Create(t.Context(), "/moved/g", pfs.CreateOptions{Size: 1000})
	pfstest.WantKind(t, err, pfs.Quota)
	must(t, f.SetQuota(t.Context(), "/moved", 0, 0))
	write(t, g, "/moved/g", 1000)
}

// TestQuotaRecount makes and removes files without the store.
func TestQuotaRecount(t *testing.T) {
	f, dir := openHome(t, Options{RecountEvery: time.Nanosecond}, 1<<20, 0)
	write(t, f, "/home/f", 1000)
	wantUsage(t, f, "/home", 1000, 1, 0)
	must(t, os.WriteFile(filepath.Join(dir, "home", "foreign"), make([]byte, 500), 0o600))
	w := stage(t, f, "/home/g", pfs.CreateOptions{}, make([]byte, 100)) // is not counted twice
	for {
		u, err := f.Usage(t.Context(), "/home")
		must(t, err)
		if u.Bytes == 1600 && u.Files == 2 {
			break
		}
		if t.Context().Err() != nil {
			t.Fatalf("usage is still %+v", u)
		}
	}
	must(t, w.Close(t.Context()))
}

// TestQuotaTogether lets many writers fill a home: they must not exceed the quota by a byte, and
// the totals must be exact.
func TestQuotaTogether(t *testing.T) {
	const limit, each, writers = 100_000, 3000, 8
	f, dir := openHome(t, Options{NoSync: true}, limit, 0)
	var done atomic.Int64
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for k := range 10 {
				name := pfs.Path("/home/" + string(rune('a'+i)) + string(rune('a'+k)))
				var err error
				if k%2 == 0 {
					err = f.WriteBatch(t.Context(), []pfs.BatchEntry{{Path: name, Data: make([]byte, each)}})[0]
				} else {
					err = publish(t, f, name, each)
				}
				switch pfs.KindOf(err) {
				case pfs.Quota:
				default:
					if err != nil {
						t.Error(err)
						return
					}
					done.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := done.Load(); n != limit/each {
		t.Errorf("%d files fit, want %d", n, limit/each)
	}
	wantUsage(t, f, "/home", done.Load()*each, done.Load(), 0)
	wantUsage(t, openAt(t, dir, Options{}), "/home", done.Load()*each, done.Load(), 0)
}

// publish is pfstest.WriteFile for goroutines other than the test's.
func publish(t *testing.T, f *FS, name pfs.Path, n int) error {
	w, err := f.Create(t.Context(), name, pfs.CreateOptions{Size: int64(n)})
	if err != nil {
		return err
	}
	defer w.Close(t.Context())
	if _, err := w.WriteAt(t.Context(), make([]byte, n), 0); err != nil {
		return err
	}
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: int64(n)})
	return err
}

func TestQuotaDamaged(t *testing.T) {
	f, dir := openHome(t, Options{}, 1000, 0)
	must(t, os.WriteFile(filepath.Join(dir, "home", quotaName), []byte("nonsense"), 0o600))
	must(t, f.Mkdir(t.Context(), "/beside", 0o755)) // outside the quota
	_, err := f.Create(t.Context(), "/home/f", pfs.CreateOptions{})
	pfstest.WantKind(t, err, pfs.Integrity)
	if e := (*pfs.Error)(nil); !errors.As(err, &e) || e.Path != "/home" {
		t.Errorf("error %q, want it about /home", err)
	}
	must(t, f.SetQuota(t.Context(), "/home", 1000, 0))
	write(t, f, "/home/f", 100)
}

func TestQuotaOfTwoTrees(t *testing.T) {
	f, _ := openHome(t, Options{}, 10_000, 0)
	for _, d := range []pfs.Path{"/home/a", "/home/b"} {
		must(t, f.Mkdir(t.Context(), d, 0o755))
		must(t, f.SetQuota(t.Context(), d, 4000, 0))
	}
	write(t, f, "/home/a/f", 3000)
	write(t, f, "/home/b/f", 3000)
	pfstest.WantKind(t, f.Rename(t.Context(), "/home/a/f", "/home/b/g"), pfs.Quota)
	must(t, f.Rename(t.Context(), "/home/a/f", "/home/b/f")) // replaces as much
	wantUsage(t, f, "/home/a", 0, 0, 0)
	wantUsage(t, f, "/home/b", 3000, 1, 0)
	wantUsage(t, f, "/home", 3000, 1, 2)

	// A claim that the outer tree refuses must not stay in the inner one.
	write(t, f, "/home/other", 5000)
	_, err := f.Create(t.Context(), "/home/a/g", pfs.CreateOptions{Size: 4000})
	pfstest.WantKind(t, err, pfs.Quota)
	must(t, f.Remove(t.Context(), "/home/other"))
	write(t, f, "/home/a/g", 4000)
	must(t, f.RemoveTree(t.Context(), "/home/b"))
	wantUsage(t, f, "/home", 4000, 1, 1)
}
