package permfs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/permfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestSuite runs the suite with a policy that allows everything.
func TestSuite(t *testing.T) {
	pfstest.Run(t, pfstest.Options{Names: 300, New: func(*testing.T) pfs.FileSystem {
		return permfs.New(memfs.New(memfs.Options{}), func(pfs.Access, pfs.Path) error { return nil })
	}})
}

// keep is a policy that hides everything called "secret" and below. Because policies apply to
// trees, only the tree /free, which has no secret, may be read, removed or written whole.
func keep(a pfs.Access, name pfs.Path) error {
	for elem := range name.Names() {
		if elem == "secret" {
			return pfs.E("test.keep", name, pfs.Permission, nil)
		}
	}
	if name.Within("/free") || a == pfs.Lookup || a == pfs.ListDir || a == pfs.Make {
		return nil
	}
	return pfs.E("test.keep", name, pfs.Permission, nil)
}

func newKept(t *testing.T) (fsys pfs.FileSystem, m *memfs.FS) {
	t.Helper()
	m = memfs.New(memfs.Options{})
	for _, dir := range []pfs.Path{"/free/sub", "/dir/secret", "/dir/open"} {
		pfstest.MustMkdir(t, m, dir)
	}
	for _, name := range []pfs.Path{"/free/f", "/free/sub/g", "/dir/secret/f", "/dir/open/f"} {
		pfstest.WriteFile(t, m, name, []byte("12345"))
	}
	return permfs.New(m, keep), m
}

func TestListHidesWhatMayNotBeSeen(t *testing.T) {
	fsys, m := newKept(t)
	pfstest.WantNames(t, fsys, "/dir", "open")
	pfstest.WantNames(t, m, "/dir", "open", "secret")
	page, err := fsys.List(t.Context(), "/dir", pfs.ListOptions{Limit: 1})
	for err == nil && page.Next != "" {
		page, err = fsys.List(t.Context(), "/dir", pfs.ListOptions{Limit: 1, Token: page.Next})
	}
	if err != nil || len(page.Entries) > 1 {
		t.Errorf("last page = %+v, %v", page, err)
	}
}

// shared returns the same page again and again, as a cache may.
type shared struct {
	*memfs.FS
	page pfs.Page
}

func (s *shared) List(context.Context, pfs.Path, pfs.ListOptions) (pfs.Page, error) {
	return s.page, nil
}

func TestListDoesNotTouchThePageBelow(t *testing.T) {
	below := &shared{FS: memfs.New(memfs.Options{}), page: pfs.Page{
		Entries: []pfs.Info{{Name: "a"}, {Name: "secret"}, {Name: "b"}},
		Unnamed: []string{`"\xff"`, `"` + strings.Repeat(`\xff`, 255) + `"`},
	}}
	for range 2 {
		page, err := permfs.New(below, keep).List(t.Context(), "/", pfs.ListOptions{})
		if err != nil || len(page.Entries) != 2 || page.Entries[1].Name != "b" || len(page.Unnamed) != 2 {
			t.Fatalf("List = %+v, %v", page, err)
		}
	}
	all := func(a pfs.Access, name pfs.Path) error {
		if name == "/" {
			return nil
		}
		return pfs.E("test.all", name, pfs.Permission, nil)
	}
	page, err := permfs.New(below, all).List(t.Context(), "/", pfs.ListOptions{})
	if err != nil || len(page.Entries) != 0 || len(page.Unnamed) != 0 {
		t.Errorf("List where nothing may be seen = %+v, %v", page, err)
	}
}

// TestTreesAreNoWayAround tries the operations that reach below the path they name.
func TestTreesAreNoWayAround(t *testing.T) {
	fsys, m := newKept(t)
	ctx := t.Context()
	pfstest.WantKind(t, pfs.RemoveTree(ctx, fsys, "/dir"), pfs.Permission)
	pfstest.WantKind(t, fsys.Rename(ctx, "/dir", "/free/dir"), pfs.Permission)
	pfstest.WantKind(t, pfs.RenameExclusive(ctx, fsys, "/dir", "/free/dir"), pfs.Permission)
	pfstest.WantKind(t, fsys.Rename(ctx, "/free/f", "/free/secret"), pfs.Permission)
	_, err := pfs.CopyInside(ctx, fsys, "/dir/secret/f", "/free/copy", pfs.CopyOptions{}, nil)
	pfstest.WantKind(t, err, pfs.Permission)
	_, err = pfs.CopyInside(ctx, fsys, "/free/f", "/dir/secret/f", pfs.CopyOptions{}, nil)
	pfstest.WantKind(t, err, pfs.Permission)
	_, _, err = pfs.Sweep(ctx, fsys, "/dir", time.Hour)
	pfstest.WantKind(t, err, pfs.Permission)
	errs := pfs.WriteBatch(ctx, fsys, []pfs.BatchEntry{{Path: "/free/new"}, {Path: "/dir/secret/new"}, {Path: "/free/last"}})
	if errs[0] != nil || !errors.Is(errs[1], pfs.Permission) || errs[2] != nil {
		t.Errorf("WriteBatch = %v", errs)
	}
	pfstest.WantNames(t, m, "/dir/secret", "f")
	if err := pfs.RemoveTree(ctx, fsys, "/free/sub"); err != nil {
		t.Error(err)
	}
}

func TestUsageCountsWhatMayBeSeen(t *testing.T) {
	fsys, _ := newKept(t)
	for dir, want := range map[pfs.Path]pfs.Usage{
		"/free":     {Bytes: 10, Files: 2, Dirs: 1},
		"/dir":      {Bytes: 5, Files: 1, Dirs: 1},
		"/":         {Bytes: 15, Files: 3, Dirs: 4},
		"/dir/open": {Bytes: 5, Files: 1},
	} {
		if got, err := pfs.UsageOf(t.Context(), fsys, dir); err != nil || got != want {
			t.Errorf("usage of %s = %+v, %v, want %+v", dir, got, err, want)
		}
	}
	_, err := pfs.UsageOf(t.Context(), fsys, "/dir/secret")
	pfstest.WantKind(t, err, pfs.Permission)
	_, err = pfs.UsageOf(t.Context(), fsys, "/missing")
	pfstest.WantKind(t, err, pfs.NotExist)
}

func TestRefusalsDoNotReachTheStore(t *testing.T) {
	fsys, m := newKept(t)
	for _, name := range []pfs.Path{"/dir/secret", "/dir/secret/f", "/dir/secret/missing", "/secret"} {
		_, stat := fsys.Stat(t.Context(), name)
		_, open := fsys.Open(t.Context(), name)
		_, list := fsys.List(t.Context(), name, pfs.ListOptions{})
		for _, err := range []error{stat, open, list, fsys.Mkdir(t.Context(), name, 0o755)} {
			pfstest.WantKind(t, err, pfs.Permission)
		}
	}
	pfstest.WantNames(t, m, "/", "dir", "free")
}
