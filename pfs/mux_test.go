package pfs_test

import (
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func TestMuxLongestMountWins(t *testing.T) {
	outer := newTree(t, "/f", "/sub/hidden", "/subway/f")
	inner := newTree(t, "/dir/f")
	mux := pfs.NewMux(
		pfs.Mount{At: "/a", FS: outer, Dir: "/"},
		pfs.Mount{At: "/a/sub", FS: inner, Dir: "/dir"},
	)
	pfstest.WantFile(t, mux, "/a/f", []byte("/f"))
	pfstest.WantFile(t, mux, "/a/sub/f", []byte("/dir/f"))
	pfstest.WantFile(t, mux, "/a/subway/f", []byte("/subway/f"))
	pfstest.WantAbsent(t, mux, "/a/sub/hidden")
	pfstest.WantNames(t, mux, "/a", "f", "sub", "subway")
	pfstest.WantNames(t, mux, "/a/sub", "f")
}

func TestMuxDirectoriesAbove(t *testing.T) {
	store := newTree(t, "/f")
	mux := pfs.NewMux(
		pfs.Mount{At: "/dc/one/home", FS: store, Dir: "/"},
		pfs.Mount{At: "/dc/two", FS: store, Dir: "/"},
		pfs.Mount{At: "/z", FS: store, Dir: "/"},
	)
	pfstest.WantNames(t, mux, "/", "dc", "z")
	pfstest.WantNames(t, mux, "/dc", "one", "two")
	pfstest.WantNames(t, mux, "/dc/one", "home")
	pfstest.WantNames(t, mux, "/dc/one/home", "f")
	for _, dir := range []pfs.Path{"/", "/dc", "/dc/one"} {
		if info := pfstest.MustStat(t, mux, dir); !info.IsDir() || info.Name != dir.Base() {
			t.Errorf("Stat %s = %+v", dir, info)
		}
	}
	page, err := mux.List(t.Context(), "/", pfs.ListOptions{Limit: 1})
	if err != nil || len(page.Entries) != 1 || page.Next == "" {
		t.Fatalf("first page = %+v, %v", page, err)
	}
	page, err = mux.List(t.Context(), "/", pfs.ListOptions{Limit: 1, Token: page.Next})
	if err != nil || len(page.Entries) != 1 || page.Entries[0].Name != "z" || page.Next != "" {
		t.Fatalf("second page = %+v, %v", page, err)
	}
}

func TestMuxDirectoriesAboveAreReadOnly(t *testing.T) {
	ctx := t.Context()
	mux := pfs.NewMux(pfs.Mount{At: "/dc/home", FS: newTree(t, "/f"), Dir: "/"})
	_, open := mux.Open(ctx, "/dc")
	wantPath(t, open, pfs.IsDir, "/dc")
	_, open = mux.Open(ctx, "/missing")
	wantPath(t, open, pfs.NotExist, "/missing")
	_, create := mux.Create(ctx, "/dc/f", pfs.CreateOptions{})
	wantPath(t, create, pfs.ReadOnly, "/dc/f")
	_, create = mux.Create(ctx, "/dc/missing/f", pfs.CreateOptions{})
	wantPath(t, create, pfs.NotExist, "/dc/missing/f")
	wantPath(t, mux.Mkdir(ctx, "/dc/new", 0o755), pfs.ReadOnly, "/dc/new")
	wantPath(t, mux.Remove(ctx, "/dc"), pfs.ReadOnly, "/dc")
	wantPath(t, mux.Rename(ctx, "/dc", "/new"), pfs.ReadOnly, "/dc")
	wantPath(t, mux.Rename(ctx, "/dc/home/f", "/dc/f"), pfs.CrossStore, "/dc/f")
	pfstest.WantKind(t, mux.Symlink(ctx, "x", "/dc/link"), pfs.Unsupported)
	if err := mux.Mkdir(ctx, "/dc", 0o755); err != nil {
		t.Errorf("Mkdir of a directory that is there: %v", err)
	}
	pfstest.WantNames(t, mux, "/dc/home", "f")
}

func TestMuxMountPointStays(t *testing.T) {
	ctx := t.Context()
	store := newTree(t, "/one/", "/two/")
	mux := pfs.NewMux(
		pfs.Mount{At: "/a", FS: store, Dir: "/one"},
		pfs.Mount{At: "/b", FS: store, Dir: "/two"},
	)
	for what, err := range map[string]error{
		"Remove":     mux.Remove(ctx, "/a"),
		"RemoveTree": mux.RemoveTree(ctx, "/a"),
		"Rename":     mux.Rename(ctx, "/a", "/b/a"),
	} {
		if err == nil {
			t.Errorf("%s of a mount point is success", what)
		}
	}
	pfstest.WantNames(t, store, "/", "one", "two")
}

func TestMuxTwoMountsOfOneStore(t *testing.T) {
	store := newTree(t, "/one/f", "/two/")
	mux := pfs.NewMux(
		pfs.Mount{At: "/a", FS: store, Dir: "/one"},
		pfs.Mount{At: "/b/c", FS: store, Dir: "/two"},
	)
	if err := mux.Rename(t.Context(), "/a/f", "/b/c/g"); err != nil {
		t.Fatal(err)
	}
	pfstest.WantFile(t, mux, "/b/c/g", []byte("/one/f"))
	pfstest.WantNames(t, mux, "/a")
}

func TestSubOfSub(t *testing.T) {
	sub := pfstest.NewSub(pfstest.NewSub(newTree(t, "/a/b/c/f"), "/a"), "/b/c")
	pfstest.WantFile(t, sub, "/f", []byte("/a/b/c/f"))
	_, err := sub.Stat(t.Context(), "/missing")
	wantPath(t, err, pfs.NotExist, "/missing")
}
