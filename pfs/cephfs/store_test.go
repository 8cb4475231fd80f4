//go:build ceph

package cephfs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func TestKinds(t *testing.T) {
	for _, table := range []map[syscall.Errno]pfs.Kind{posix.Kinds, kinds} {
		for errno, want := range table {
			if got := pfs.KindOf(fail("cephfs.Test", "/f", errno)); got != want {
				t.Errorf("%v is %q, want %q", errno, got, want)
			}
		}
	}
	if got := pfs.KindOf(fail("cephfs.Test", "/f", syscall.EXFULL)); got != pfs.Other {
		t.Errorf("a number that is not in the table is %q", got)
	}
	for _, err := range []error{errGone, errAbandoned, syscall.ESHUTDOWN} {
		if got := pfs.KindOf(fail("cephfs.Test", "/f", err)); got != pfs.Unavailable {
			t.Errorf("%v is %q, want %q", err, got, pfs.Unavailable)
		}
	}
}

// own opens an empty directory of a separate store.
func own(t *testing.T) FS {
	t.Helper()
	return openEmpty(t, optionsOf(testbed.Ceph(t)))
}

func TestSnapshots(t *testing.T) {
	c := testbed.Ceph(t)
	c.Command(t, "fs", "set", c.FileSystem, "allow_new_snaps", "true")
	f := own(t)
	pfstest.MustMkdir(t, f, "/dir")
	pfstest.WriteFile(t, f, "/dir/f", []byte("old"))
	if err := f.makeSnapshot(t, "/dir", "monday"); err != nil {
		t.Fatal(err)
	}
	pfstest.WriteFile(t, f, "/dir/f", []byte("new"))
	pfstest.WantFile(t, f, "/dir/.snap/monday/f", []byte("old"))
	pfstest.WantFile(t, f, "/dir/f", []byte("new"))
	pfstest.WantNames(t, f, "/dir/.snap", "monday")
	pfstest.WantNames(t, f, "/dir", "f")
	ctx := t.Context()
	_, created := f.Create(ctx, "/dir/.snap/monday/g", pfs.CreateOptions{})
	_, edited := f.OpenHandle(ctx, "/dir/.snap/monday/f", pfs.OpenWrite, 0)
	for what, err := range map[string]error{
		"Create":     created,
		"OpenHandle": edited,
		"Mkdir":      f.Mkdir(ctx, "/dir/.snap/tuesday", 0o755),
		"Remove":     f.Remove(ctx, "/dir/.snap/monday"),
		"RemoveTree": f.RemoveTree(ctx, "/dir/.snap/monday"),
		"Rename":     f.Rename(ctx, "/dir/f", "/dir/.snap/monday/g"),
		"Chmod":      pfs.SetAttr(ctx, f, "/dir/.snap/monday/f", pfs.AttrMode, pfs.Attrs{Mode: 0o600}),
		"WriteBatch": f.WriteBatch(ctx, []pfs.BatchEntry{{Path: "/dir/.snap/monday/g"}})[0],
		"SetQuota":   f.SetQuota(ctx, "/dir/.snap/monday", 1, 1),
	} {
		if !errors.Is(err, pfs.ReadOnly) {
			t.Errorf("%s in a snapshot: %v, want ReadOnly", what, err)
		}
	}
	pfstest.WantNames(t, f, "/dir/.snap", "monday")

	pfstest.MustMkdir(t, f, "/dir/sub")
	pfstest.WriteFile(t, f, "/dir/sub/f", []byte("new"))
	if err := f.RemoveTree(ctx, "/dir"); !errors.Is(err, pfs.NotEmpty) || !strings.Contains(err.Error(), `"dir": it has snapshots`) {
		t.Errorf("RemoveTree of a directory with a snapshot: %v", err)
	}
	pfstest.WantNames(t, f, "/dir")
}

// makeSnapshot makes a snapshot as an administrator would, by mkdir in the hidden directory.
func (f FS) makeSnapshot(t *testing.T, at pfs.Path, name string) error {
	t.Cleanup(func() {
		if err := f.inDir(context.Background(), at.Join(snapDir), func(d *dir) error { return d.rmdir(name) }); err != nil {
			t.Error(err)
		}
	})
	return f.inDir(t.Context(), at.Join(snapDir), func(d *dir) error { return d.mkdir(name, 0o755, nil) })
}

func (f FS) inDir(ctx context.Context, name pfs.Path, do func(d *dir) error) error {
	_, err := in(ctx, f, "cephfs.Test", name, func(d *dir) (struct{}, error) { return struct{}{}, do(d) })
	return err
}

// TestQuota fills a directory until the store reports that it is full, and checks that it does so
// soon: its totals lag by seconds.
func TestQuota(t *testing.T) {
	f := own(t)
	pfstest.MustMkdir(t, f, "/home")
	if err := f.SetQuota(t.Context(), "/home", 20<<20, 0); err != nil {
		t.Fatal(err)
	}
	want := pfs.Usage{MaxBytes: 20 << 20}
	if got, err := f.Usage(t.Context(), "/home"); err != nil || got != want {
		t.Errorf("usage = %+v, %v, want %+v", got, err, want)
	}
	w, err := f.Create(t.Context(), "/home/f", pfs.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(t.Context())
	p := pfstest.Pattern(1, pfs.ChunkSize)
	for off := int64(0); err == nil && off < 100<<20; off += pfs.ChunkSize {
		_, err = w.WriteAt(t.Context(), p, off)
	}
	if err == nil {
		_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: 100 << 20})
	}
	wantOver(t, err, pfs.OverQuota{Limit: 20 << 20})
	pfstest.WantNames(t, f, "/home")
	_, err = f.Create(t.Context(), "/home/large", pfs.CreateOptions{Size: 1 << 40})
	wantOver(t, err, pfs.OverQuota{Limit: 20 << 20, Need: 1 << 40})
	_, err = f.Create(t.Context(), "/large", pfs.CreateOptions{Size: 1 << 40})
	pfstest.WantKind(t, err, pfs.NoSpace)

	must(t, f.SetQuota(t.Context(), "/home", 0, 3))
	err = nil
	for i := 0; err == nil && i < 5000; i++ { // the MDS counts some seconds late
		err = f.Mkdir(t.Context(), pfs.Path(fmt.Sprint("/home/", i)), 0o755)
	}
	wantOver(t, err, pfs.OverQuota{Limit: 3, Files: true})
}

// wantOver checks that err names this limit.
func wantOver(t *testing.T, err error, want pfs.OverQuota) {
	t.Helper()
	var q *pfs.OverQuota
	if pfs.KindOf(err) != pfs.Quota || !errors.As(err, &q) || q.Files != want.Files || q.Limit != want.Limit || q.Need != want.Need || q.Staged >= 0 {
		t.Errorf("%v, want Quota and %+v", err, want)
	}
}

// TestLinkInTheWay replaces a directory by a link between two operations on a path through it.
func TestLinkInTheWay(t *testing.T) {
	f := own(t)
	pfstest.MustMkdir(t, f, "/alice/dir")
	pfstest.MustMkdir(t, f, "/bob")
	w, err := f.Create(t.Context(), "/alice/dir/f", pfs.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(t.Context())
	if err := f.Rename(t.Context(), "/alice/dir", "/alice/moved"); err != nil {
		t.Fatal(err)
	}
	pfstest.MustLink(t, f, "../bob", "/alice/dir")
	_, err = w.Commit(t.Context(), pfs.CommitOptions{})
	if kind := pfs.KindOf(err); err == nil || kind != pfs.Symlink && kind != pfs.Conflict {
		t.Errorf("Commit through a link: %v", err)
	}
	pfstest.WantNames(t, f, "/bob")
}

// TestLongNames makes the longest name in the deepest directory that a path can name, and tries
// longer ones.
func TestLongNames(t *testing.T) {
	f := own(t)
	long := strings.Repeat("n", pfs.MaxName)
	dir := pfs.Root
	for range pfs.MaxPath/(pfs.MaxName+1) - 1 {
		dir = dir.Join(long)
	}
	pfstest.MustMkdir(t, f, dir)
	name, data := dir.Join(long), []byte("deep")
	pfstest.WriteFile(t, f, name, data)
	pfstest.WantFile(t, f, name, data)
	pfstest.WantNames(t, f, dir, long)
	if errs := f.WriteBatch(t.Context(), []pfs.BatchEntry{{Path: name, Data: data}}); errs[0] != nil {
		t.Error(errs[0])
	}
	for what, name := range map[string]pfs.Path{
		"a name that is too long":   pfs.Root.Join(long + "n"),
		"a path that is too long":   name.Join("n"),
		"a name of the store's own": pfs.Root.Join(digest.StagedName("f", pfs.NewID())),
	} {
		_, opened := f.Open(t.Context(), name)
		_, created := f.Create(t.Context(), name, pfs.CreateOptions{})
		for op, err := range map[string]error{
			"Open":       opened,
			"Create":     created,
			"Mkdir":      f.Mkdir(t.Context(), name, 0o755),
			"Rename":     f.Rename(t.Context(), "/"+pfs.Path(long), name),
			"WriteBatch": f.WriteBatch(t.Context(), []pfs.BatchEntry{{Path: name}})[0],
		} {
			if kind := pfs.KindOf(err); err == nil || kind != pfs.Invalid {
				t.Errorf("%s of %s: %v, want Invalid", op, what, err)
			}
		}
	}
}

// TestLastWriteStays writes each chunk wrong, in pieces and whole, and then right, as a sender does
// whose first attempt failed its check.
func TestLastWriteStays(t *testing.T) {
	f := own(t)
	wrong, right := pfstest.Pattern(1, 3*pfs.ChunkSize), pfstest.Pattern(2, 3*pfs.ChunkSize)
	w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(t.Context())
	for _, piece := range []int{pfs.ChunkSize, 256 << 10} {
		for _, data := range [][]byte{wrong, right} {
			for off := 0; off < len(data); off += piece {
				if _, err := w.WriteAt(t.Context(), data[off:off+piece], int64(off)); err != nil {
					t.Fatal(err)
				}
			}
		}
		got := make([]byte, len(right))
		if _, err := w.ReadAt(t.Context(), got, 0); err != nil || string(got) != string(right) {
			t.Errorf("pieces of %d: what was staged first came back, error %v", piece, err)
		}
	}
	if _, err := w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(right))}); err != nil {
		t.Fatal(err)
	}
	pfstest.WantFile(t, f, "/f", right)
}

// TestCommitUnwritten checks that a file that lacks bytes passed to WriteAt is never published, for
// any reason. The length of the temporary does not show a missing block in the middle.
func TestCommitUnwritten(t *testing.T) {
	f := openEmpty(t, optionsOf(testbed.Ceph(t)))
	h, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
	must(t, err)
	defer h.Close(t.Context())
	_, err = h.WriteAt(t.Context(), []byte("content"), 0)
	must(t, err)
	must(t, h.Sync(t.Context()))
	w := h.(*staged)
	stale := pfs.E("cephfs.Test", "/f", pfs.Conflict, syscall.ESTALE)
	_, err = runChange(t.Context(), f, []pfs.Path{"/f"}, func(c *call) (pfs.Info, error) {
		return w.commit(c, "cephfs.Test", pfs.CommitOptions{Size: 7}, stale)
	}, nil)
	pfstest.WantKind(t, err, pfs.Conflict)
	pfstest.WantNames(t, f, pfs.Root)
	_, err = h.Commit(t.Context(), pfs.CommitOptions{Size: 7})
	must(t, err)
	pfstest.WantFile(t, f, "/f", []byte("content"))
}

// TestPanic: a panic inside a call of libcephfs, or beside it, fails its own operation only; the
// store continues, and can be closed.
func TestPanic(t *testing.T) {
	f := openEmpty(t, optionsOf(testbed.Ceph(t)))
	for _, do := range []func(c *call) (struct{}, error){
		func(*call) (struct{}, error) { panic("beside") },
		func(c *call) (struct{}, error) {
			return struct{}{}, c.lib(func(*cMount, *cPerms) error { panic("inside") })
		},
	} {
		_, err := run(t.Context(), f, do, nil)
		pfstest.WantKind(t, err, pfs.Other)
	}
	pfstest.WriteFile(t, f, "/f", []byte("content"))
	m := f.store.cur
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.inside != 0 {
		t.Errorf("%d calls have not left the mount", m.inside)
	}
}

// TestPanicInParallel: the caller, whose goroutine recovers, gets the panic.
func TestPanicInParallel(t *testing.T) {
	for _, n := range []int{1, 2, 100} {
		err := pfs.Guard("cephfs.Test", "", func() error {
			inParallel(4, n, func(k int) {
				if k == n-1 {
					panic("the last one")
				}
			})
			return nil
		})
		pfstest.WantKind(t, err, pfs.Other)
		if !strings.Contains(err.Error(), "the last one") {
			t.Errorf("of %d: %v", n, err)
		}
	}
}
