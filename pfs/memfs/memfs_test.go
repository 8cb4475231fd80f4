package memfs_test

import (
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

const id = "0123456789abcdef"

func TestConformance(t *testing.T) {
	pfstest.Run(t, pfstest.Options{
		New:     func(*testing.T) pfs.FileSystem { return memfs.New(memfs.Options{User: "service"}) },
		Reopen:  func(_ *testing.T, fsys pfs.FileSystem) pfs.FileSystem { return fsys },
		Owners:  []pfs.Owner{{Name: "alice"}, {Name: "bob"}},
		Service: pfs.Owner{Name: "service"},
	})
}

// TestConformanceOfAnObjectStore runs the suite on a store that cannot keep empty directories,
// rename directories, read staged bytes back, or change files in place.
func TestConformanceOfAnObjectStore(t *testing.T) {
	pfstest.Run(t, pfstest.Options{
		New: func(*testing.T) pfs.FileSystem {
			return memfs.New(memfs.Options{Without: pfs.CanKeepEmptyDir | pfs.CanUsage | pfs.CanSetQuota | pfs.CanRenameDir | pfs.CanReadStaged | pfs.CanOpenHandle | pfs.CanHardLink |
				pfs.CanMknod | pfs.CanSymlink | pfs.CanSetOwner | pfs.CanSetAccessTime | pfs.CanSetReplication | pfs.CanConcat |
				pfs.CanXattr | pfs.CanAppend | pfs.CanWriteRandom | pfs.CanAllocate})
		},
		Owners: []pfs.Owner{{Name: "alice"}, {Name: "bob"}},
		Gaps: pfstest.NoEmptyDir | pfstest.NoQuota | pfstest.NoRenameDir | pfstest.NoReadStaged | pfstest.NoLeafDigests | pfstest.NoSymlink | pfstest.WholeFiles&^
			pfstest.NoFileID&^pfstest.NoCapabilities,
		Names: 300,
	})
}

// wantFree fails unless the store has that many bytes left.
func wantFree(t *testing.T, s *memfs.FS, want int64) {
	t.Helper()
	got, err := s.Space(t.Context(), pfs.Root)
	if err != nil || got.Free != want {
		t.Fatalf("Space = %+v, %v, want %d free", got, err, want)
	}
}

func TestCapacity(t *testing.T) {
	ctx := t.Context()
	s := memfs.New(memfs.Options{Capacity: 100_000})
	pfstest.WriteFile(t, s, "/f", make([]byte, 60_000))
	wantFree(t, s, 40_000)

	_, err := s.Create(ctx, "/g", pfs.CreateOptions{Size: 40_001})
	pfstest.WantKind(t, err, pfs.NoSpace)
	w, err := s.Create(ctx, "/g", pfs.CreateOptions{Size: 40_000})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteAt(ctx, make([]byte, 40_000), 0); err != nil {
		t.Fatal(err)
	}
	wantFree(t, s, 0)
	_, err = w.WriteAt(ctx, []byte("x"), 40_000)
	pfstest.WantKind(t, err, pfs.NoSpace)
	w.Close(ctx)
	wantFree(t, s, 40_000)

	errs := s.WriteBatch(ctx, []pfs.BatchEntry{{Path: "/g", Data: make([]byte, 40_001)}})
	pfstest.WantKind(t, errs[0], pfs.NoSpace)
	_, err = s.CopyFile(ctx, "/f", "/g", pfs.CopyOptions{}, nil)
	pfstest.WantKind(t, err, pfs.NoSpace)
	h, err := s.OpenHandle(ctx, "/f", pfs.OpenRead|pfs.OpenWrite, 0)
	if err != nil {
		t.Fatal(err)
	}
	pfstest.WantKind(t, h.Truncate(ctx, 100_001), pfs.NoSpace)
	_, err = h.WriteAt(ctx, []byte("x"), 100_000)
	pfstest.WantKind(t, err, pfs.NoSpace)
	if err := h.Truncate(ctx, 100_000); err != nil {
		t.Error(err)
	}
	wantFree(t, s, 0)
	if err := s.Remove(ctx, "/f"); err != nil {
		t.Error(err)
	}
	wantFree(t, s, 100_000)
}

// TestSpaceComesBack ends uploads in every possible way.
func TestSpaceComesBack(t *testing.T) {
	ends := map[string]func(s *memfs.FS, w pfs.Staged) error{
		"Close": func(_ *memfs.FS, w pfs.Staged) error { return w.Close(t.Context()) },
		"Commit of less": func(_ *memfs.FS, w pfs.Staged) error {
			_, err := w.Commit(t.Context(), pfs.CommitOptions{Size: 0})
			return err
		},
		"Sweep": func(s *memfs.FS, w pfs.Staged) error {
			_, _, err := s.Sweep(t.Context(), pfs.Root, 0)
			return err
		},
		"Remove":     func(s *memfs.FS, w pfs.Staged) error { return s.Remove(t.Context(), "/d/sub") },
		"RemoveTree": func(s *memfs.FS, w pfs.Staged) error { return s.RemoveTree(t.Context(), "/d") },
	}
	for name, end := range ends {
		s := memfs.New(memfs.Options{Capacity: 1000})
		pfstest.MustMkdir(t, s, "/d/sub")
		w, err := s.Create(t.Context(), "/d/sub/f", pfs.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteAt(t.Context(), make([]byte, 700), 0); err != nil {
			t.Fatal(err)
		}
		wantFree(t, s, 300)
		if err := end(s, w); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wantFree(t, s, 1000)
		w.Close(t.Context())
		wantFree(t, s, 1000)
	}
}

func TestSweptWriteIsGone(t *testing.T) {
	s := memfs.New(memfs.Options{})
	w, err := s.Create(t.Context(), "/f", pfs.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n, _, err := s.Sweep(t.Context(), pfs.Root, 0); n != 1 || err != nil {
		t.Fatalf("Sweep = %d, %v", n, err)
	}
	_, err = w.WriteAt(t.Context(), []byte("x"), 0)
	pfstest.WantKind(t, err, pfs.Conflict)
	_, err = w.Commit(t.Context(), pfs.CommitOptions{})
	pfstest.WantKind(t, err, pfs.Conflict)
	pfstest.WantAbsent(t, s, "/f")
}

// TestStagedGoesWithItsDirectory: an upload moves with its directory and is found under its new
// name.
func TestStagedGoesWithItsDirectory(t *testing.T) {
	ctx := t.Context()
	s := memfs.New(memfs.Options{})
	pfstest.MustMkdir(t, s, "/old")
	w, err := s.Create(ctx, "/old/f", pfs.CreateOptions{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteAt(ctx, []byte("content"), 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Rename(ctx, "/old", "/new"); err != nil {
		t.Fatal(err)
	}
	_, err = w.Commit(ctx, pfs.CommitOptions{Size: 7})
	pfstest.WantKind(t, err, pfs.NotExist)
	pfstest.MustMkdir(t, s, "/old")
	_, err = w.Commit(ctx, pfs.CommitOptions{Size: 7})
	pfstest.WantKind(t, err, pfs.Conflict)
	w, err = s.Create(ctx, "/new/f", pfs.CreateOptions{ID: id, Reopen: true})
	if err != nil || !w.Resumed() {
		t.Fatalf("Create in the renamed directory: %v", err)
	}
	if _, err := w.Commit(ctx, pfs.CommitOptions{Size: 7}); err != nil {
		t.Error(err)
	}
	pfstest.WantFile(t, s, "/new/f", []byte("content"))
}

func TestHandleOfReplacedFile(t *testing.T) {
	ctx := t.Context()
	s := memfs.New(memfs.Options{})
	pfstest.WriteFile(t, s, "/f", []byte("old"))
	h, err := s.OpenHandle(ctx, "/f", pfs.OpenRead|pfs.OpenWrite, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Rename(ctx, "/f", "/moved"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.WriteAt(ctx, []byte("OLD"), 0); err != nil {
		t.Errorf("WriteAt after Rename: %v", err)
	}
	pfstest.WantFile(t, s, "/moved", []byte("OLD"))
	pfstest.WriteFile(t, s, "/moved", []byte("new"))
	if _, err := h.WriteAt(ctx, []byte("x"), 0); err != nil {
		t.Errorf("WriteAt after the file was replaced: %v", err)
	}
	pfstest.WantFile(t, s, "/moved", []byte("new"))
}

// TestOpenFileKeepsItsVersion under changes in place, which is more than the contract requires.
func TestOpenFileKeepsItsVersion(t *testing.T) {
	ctx, data := t.Context(), pfstest.Pattern(1, 200_000)
	s := memfs.New(memfs.Options{})
	pfstest.WriteFile(t, s, "/f", data)
	f, err := s.Open(ctx, "/f")
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.OpenHandle(ctx, "/f", pfs.OpenRead|pfs.OpenWrite, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []func() error{
		func() error { _, err := h.WriteAt(ctx, make([]byte, 100_000), 50_000); return err },
		func() error { return h.Truncate(ctx, 70_000) },
		func() error { return h.Truncate(ctx, 200_000) },
		func() error { _, err := h.WriteAt(ctx, []byte("tail"), 69_999); return err },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(data))
		if err := pfs.ReadFull(ctx, f, got, 0); err != nil || string(got) != string(data) {
			t.Fatalf("the open file has changed, %v", err)
		}
	}
}

// TestSparseFile: holes need no memory.
func TestSparseFile(t *testing.T) {
	const far = 1 << 50
	ctx := t.Context()
	s := memfs.New(memfs.Options{})
	w, err := s.Create(ctx, "/f", pfs.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteAt(ctx, []byte("tail"), far); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(ctx, pfs.CommitOptions{Size: far + 4}); err != nil {
		t.Fatal(err)
	}
	f, err := s.Open(ctx, "/f")
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 6)
	if err := pfs.ReadFull(ctx, f, p, far-2); err != nil || string(p) != "\x00\x00tail" {
		t.Errorf("ReadAt = %q, %v", p, err)
	}
	h, err := s.OpenHandle(ctx, "/f", pfs.OpenRead|pfs.OpenWrite, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.WriteAt(ctx, []byte("xx"), 1<<63-2)
	pfstest.WantKind(t, err, pfs.Invalid)
	if _, err := h.WriteAt(ctx, []byte("xx"), 1<<63-3); err != nil {
		t.Error(err)
	}
	a, err := s.OpenHandle(ctx, "/f", pfs.OpenWrite|pfs.OpenAppend, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.WriteAt(ctx, []byte("x"), 0)
	pfstest.WantKind(t, err, pfs.Invalid)
}
