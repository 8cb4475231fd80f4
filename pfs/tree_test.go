package pfs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// oneByOne lists one entry a page, and can have entries whose names cannot be in a Path.
type oneByOne struct {
	pfs.FileSystem
	unnamed map[pfs.Path]string
}

func (o oneByOne) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	opts.Limit = 1
	page, err := o.FileSystem.List(ctx, dir, opts)
	if name, ok := o.unnamed[dir]; ok && opts.Token == "" {
		page.Unnamed = []string{name}
	}
	return page, err
}

func TestExists(t *testing.T) {
	s := newSpy()
	tree(t, s, "/f")
	for name, want := range map[pfs.Path]bool{"/f": true, "/missing": false} {
		if got, err := pfs.Exists(t.Context(), s, name); got != want || err != nil {
			t.Errorf("Exists %s = %v, %v", name, got, err)
		}
	}
	s.fail = func(string) error { return pfs.E("spy.Stat", "/f", pfs.Unavailable, nil) }
	if got, err := pfs.Exists(t.Context(), s, "/f"); got || !errors.Is(err, pfs.Unavailable) {
		t.Errorf("Exists on a store that is away = %v, %v", got, err)
	}
}

func TestEntries(t *testing.T) {
	fsys := oneByOne{newTree(t, "/d/a", "/d/b", "/d/c"), map[pfs.Path]string{"/d": `"\xff"`}}
	var got, unnamed []string
	for e, err := range pfs.Entries(t.Context(), fsys, "/d", func(q string) { unnamed = append(unnamed, q) }) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Name)
	}
	wantPaths(t, "entries", got, "a", "b", "c")
	wantPaths(t, "unnamed entries", unnamed, `"\xff"`)
	for range pfs.Entries(t.Context(), fsys, "/d", nil) {
		break
	}
	for _, err := range pfs.Entries(t.Context(), fsys, "/missing", nil) {
		wantPath(t, err, pfs.NotExist, "/missing")
	}
}

func TestWalk(t *testing.T) {
	full := newTree(t, "/d/a/1", "/d/a/2", "/d/b/", "/d/c", "/d/link -> a", "/other")
	skip := func(at pfs.Path, with error) func(pfs.Path) error {
		return func(name pfs.Path) error {
			if name == at {
				return with
			}
			return nil
		}
	}
	failed := errors.New("failed")
	tests := []struct {
		root pfs.Path
		do   func(pfs.Path) error
		want []pfs.Path
		err  error
	}{
		{"/d", skip("", nil), []pfs.Path{"/d", "/d/a", "/d/a/1", "/d/a/2", "/d/b", "/d/c", "/d/link"}, nil},
		{"/d/c", skip("", nil), []pfs.Path{"/d/c"}, nil},
		{"/d/link", skip("", nil), []pfs.Path{"/d/link"}, nil},
		{"/d", skip("/d/a", fs.SkipDir), []pfs.Path{"/d", "/d/a", "/d/b", "/d/c", "/d/link"}, nil},
		{"/d", skip("/d/a/1", fs.SkipDir), []pfs.Path{"/d", "/d/a", "/d/a/1", "/d/b", "/d/c", "/d/link"}, nil},
		{"/d", skip("/d", fs.SkipDir), []pfs.Path{"/d"}, nil},
		{"/d", skip("/d/a/1", fs.SkipAll), []pfs.Path{"/d", "/d/a", "/d/a/1"}, nil},
		{"/d", skip("/d/b", failed), []pfs.Path{"/d", "/d/a", "/d/a/1", "/d/a/2", "/d/b"}, failed},
	}
	for i, tt := range tests {
		for _, fsys := range []pfs.FileSystem{full, oneByOne{full, nil}} {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				var got []pfs.Path
				err := pfs.Walk(t.Context(), fsys, tt.root, func(name pfs.Path, info pfs.Info, err error) error {
					if err != nil || info.Name != name.Base() {
						t.Errorf("%s: info %+v, error %v", name, info, err)
					}
					got = append(got, name)
					return tt.do(name)
				})
				if err != tt.err {
					t.Errorf("Walk = %v, want %v", err, tt.err)
				}
				wantPaths(t, "walk", got, tt.want...)
			})
		}
	}
}

func TestWalkReportsErrors(t *testing.T) {
	s := newSpy()
	tree(t, s, "/d/a/1", "/d/b/2")
	s.fail = func(call string) error {
		if call == "List /d/a" {
			return pfs.E("spy.List", "/d/a", pfs.Permission, nil)
		}
		return nil
	}
	var got []pfs.Path
	err := pfs.Walk(t.Context(), s, "/d", func(name pfs.Path, info pfs.Info, err error) error {
		got = append(got, name)
		if err != nil && (name != "/d/a" || !info.IsDir() || !errors.Is(err, pfs.Permission)) {
			t.Errorf("%s: %v", name, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	wantPaths(t, "walk", got, "/d", "/d/a", "/d/a", "/d/b", "/d/b/2")

	err = pfs.Walk(t.Context(), s, "/missing", func(name pfs.Path, _ pfs.Info, err error) error { return err })
	wantPath(t, err, pfs.NotExist, "/missing")
}

func TestWalkReportsUnnamed(t *testing.T) {
	fsys := oneByOne{newTree(t, "/d/a"), map[pfs.Path]string{"/d": `"\xff"`}}
	told := 0
	err := pfs.Walk(t.Context(), fsys, "/", func(name pfs.Path, _ pfs.Info, err error) error {
		if err != nil {
			wantPath(t, err, pfs.Invalid, "/d")
			told++
		}
		return nil
	})
	if told != 1 || err != nil {
		t.Errorf("told %d times, error %v", told, err)
	}

	// SkipDir applies to the directory that has the entry.
	fsys = oneByOne{newTree(t, "/d/a", "/e"), map[pfs.Path]string{"/d": `"\xff"`}}
	var got []pfs.Path
	err = pfs.Walk(t.Context(), fsys, "/", func(name pfs.Path, _ pfs.Info, err error) error {
		got = append(got, name)
		if err != nil {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	wantPaths(t, "walk", got, "/", "/d", "/d", "/e")
}

func TestMkdirAll(t *testing.T) {
	fsys := newTree(t, "/f", "/d/")
	ctx := t.Context()
	for _, name := range []pfs.Path{"/", "/d", "/d/a/b/c", "/new/x", "/d/a/b/c"} {
		if err := pfs.MkdirAll(ctx, fsys, name, 0o750); err != nil {
			t.Errorf("MkdirAll %s: %v", name, err)
		}
	}
	if got := pfstest.MustStat(t, fsys, "/d/a/b").Mode.Perm(); got != 0o750 {
		t.Errorf("mode = %v", got)
	}
	wantPath(t, pfs.MkdirAll(ctx, fsys, "/f", 0o755), pfs.Exist, "/f")
	wantPath(t, pfs.MkdirAll(ctx, fsys, "/f/a/b", 0o755), pfs.NotDir, "/f")
}

func TestRemoveTree(t *testing.T) {
	full := newTree(t, "/d/a/1", "/d/a/b/2", "/d/e/", "/d/link -> ../keep", "/keep/f")
	for i := range 50 {
		tree(t, full, fmt.Sprintf("/d/many/%d", i))
	}
	fsys := core{oneByOne{full, nil}}
	if err := pfs.RemoveTree(t.Context(), fsys, "/d"); err != nil {
		t.Fatal(err)
	}
	pfstest.WantNames(t, fsys, "/", "keep")
	pfstest.WantNames(t, fsys, "/keep", "f")
	wantPath(t, pfs.RemoveTree(t.Context(), fsys, "/d"), pfs.NotExist, "/d")
	if err := pfs.RemoveTree(t.Context(), fsys, "/keep/f"); err != nil {
		t.Error(err)
	}
}

// stubborn lists an entry that does not exist when it is removed, as a stale cache might.
type stubborn struct {
	pfs.FileSystem
	t     *testing.T
	asked int
}

func (s *stubborn) Remove(ctx context.Context, name pfs.Path) error {
	switch s.asked++; {
	case s.asked > 100:
		s.t.Error("Remove is called without end")
		return pfs.E("stubborn.Remove", name, pfs.Other, nil)
	case name == "/d/ghost":
		return pfs.E("stubborn.Remove", name, pfs.NotExist, nil)
	}
	return s.FileSystem.Remove(ctx, name)
}

func TestRemoveTreeEnds(t *testing.T) {
	fsys := &stubborn{FileSystem: newTree(t, "/d/a", "/d/ghost", "/d/b"), t: t}
	wantPath(t, pfs.RemoveTree(t.Context(), fsys, "/d"), pfs.NotEmpty, "/d")
	pfstest.WantNames(t, fsys, "/d", "ghost")
}

// hasty is a store on which another client removes every file a moment before.
type hasty struct{ pfs.FileSystem }

func (h hasty) Remove(ctx context.Context, name pfs.Path) error {
	err := h.FileSystem.Remove(ctx, name)
	if err == nil && name != "/d" {
		return pfs.E("hasty.Remove", name, pfs.NotExist, nil)
	}
	return err
}

// TestRemoveTreeWithoutEmptyDirectories: in such a store a directory goes with its last file.
func TestRemoveTreeWithoutEmptyDirectories(t *testing.T) {
	store := memfs.New(memfs.Options{Without: pfs.CanKeepEmptyDir})
	pfstest.MustMkdir(t, store, "/d/sub")
	pfstest.WriteFile(t, store, "/d/f", nil)
	pfstest.WriteFile(t, store, "/d/sub/f", nil)
	core := struct{ pfs.FileSystem }{store} // no TreeRemover
	if err := pfs.RemoveTree(t.Context(), core, "/d"); err != nil {
		t.Fatal(err)
	}
	pfstest.WantNames(t, store, "/")
}

// TestRemoveTreeWithAnother checks that a concurrent removal of the same files is not an error.
func TestRemoveTreeWithAnother(t *testing.T) {
	fsys := hasty{newTree(t, "/d/a", "/d/b/c")}
	if err := pfs.RemoveTree(t.Context(), fsys, "/d"); err != nil {
		t.Error(err)
	}
	pfstest.WantNames(t, fsys, "/")
}

func TestUsageOf(t *testing.T) {
	fsys := newTree(t, "/d/a/1", "/d/a/b/22", "/d/e/")
	want := pfs.Usage{Bytes: int64(len("/d/a/1") + len("/d/a/b/22")), Files: 2, Dirs: 3}
	for _, fsys := range []pfs.FileSystem{fsys, core{fsys}, core{oneByOne{fsys, map[pfs.Path]string{"/d": `"\xff"`}}}} {
		if got, err := pfs.UsageOf(t.Context(), fsys, "/d"); got != want || err != nil {
			t.Errorf("UsageOf = %+v, %v, want %+v", got, err, want)
		}
	}
}

func TestUsageOfBadPath(t *testing.T) {
	_, err := pfs.UsageOf(t.Context(), core{newTree(t)}, "/a/../b")
	pfstest.WantKind(t, err, pfs.Invalid)
}
