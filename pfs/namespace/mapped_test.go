package namespace_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/namespace"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// mapped returns a namespace whose store had directories before.
func mapped(t *testing.T) (*namespace.Namespace, *memfs.FS) {
	t.Helper()
	store := memfs.New(memfs.Options{})
	for _, dir := range []pfs.Path{"/old", "/old/images", "/old/team", "/old/dark"} {
		pfstest.MustMkdir(t, store, dir)
		pfstest.WriteFile(t, store, dir.Join("f"), []byte(dir))
	}
	n, err := namespace.New(namespace.Config{Datacenters: []namespace.Datacenter{{Name: "east", FS: store, Dir: "/pfs", Mapped: []namespace.MappedDir{
		{Name: "images", Dir: "/old/images", ReadOnly: true, Access: namespace.AccessList{Everybody: true}},
		{Name: "team", Dir: "/old/team", Access: namespace.AccessList{Users: []string{"bob"}, Roles: []auth.Role{auth.Publisher}}},
		{Name: "dark", Dir: "/old/dark"},
	}}}})
	if err == nil {
		err = n.EnsureLayout(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []auth.Identity{alice, bob, publisher, admin} {
		if err := n.EnsureHome(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	return n, store
}

func TestMountsAreListedToThoseWhoMayEnter(t *testing.T) {
	n, _ := mapped(t)
	for _, row := range []struct {
		id   auth.Identity
		want []string
	}{
		{alice, []string{"images"}},
		{bob, []string{"images", "team"}},
		{publisher, []string{"images", "team"}},
		{admin, []string{"dark", "images", "team"}},
		{auth.Identity{}, []string{"images"}},
	} {
		fsys := n.View(row.id, "mine")
		if got := pfstest.Names(t, fsys, "/pfs/mine/mnt"); !slices.Equal(got, row.want) {
			t.Errorf("%q sees %q, want %q", row.id.Name, got, row.want)
		}
		pfstest.WantNames(t, fsys, "/pfs/east", "home", "mnt", "public")
		for _, name := range []string{"images", "team", "dark"} {
			_, err := fsys.Stat(t.Context(), pfs.Path("/pfs/east/mnt").Join(name).Join("f"))
			if may := slices.Contains(row.want, name); may && err != nil || !may && !errors.Is(err, pfs.Permission) {
				t.Errorf("%q in %s: %v", row.id.Name, name, err)
			}
		}
	}
}

// TestMountsThatAreNotForYou tries every operation: a mapped directory that one may not enter
// looks like a missing one.
func TestMountsThatAreNotForYou(t *testing.T) {
	for name, op := range operations {
		n, store := mapped(t)
		fsys := n.View(alice, "")
		pfstest.WriteFile(t, fsys, "/pfs/east/home/alice@example.org/f", nil)
		pfstest.MustLink(t, fsys, "/pfs/east/mnt", "/pfs/east/home/alice@example.org/link")
		for _, way := range []pfs.Path{"/pfs/east/mnt", "/pfs/east/home/alice@example.org/link"} {
			for _, below := range []string{"", "f", "g"} {
				dark, missing := way.Join("dark"), way.Join("none")
				if below != "" {
					dark, missing = dark.Join(below), missing.Join(below)
				}
				err, other := op(t.Context(), fsys, dark), op(t.Context(), fsys, missing)
				pfstest.WantKind(t, err, pfs.Permission)
				pfstest.WantKind(t, other, pfs.Permission)
				if below == "" && way == "/pfs/east/mnt" {
					continue // the message names it
				}
				if len(err.Error()) != len(other.Error()) {
					t.Errorf("%s of %s: %q and %q", name, dark, err, other)
				}
			}
		}
		pfstest.WantNames(t, store, "/old/dark", "f")
	}
}

func TestReadOnlyMappedDir(t *testing.T) {
	n, store := mapped(t)
	ctx := t.Context()
	for _, id := range []auth.Identity{alice, admin} {
		fsys := n.View(id, "")
		pfstest.WantFile(t, fsys, "/pfs/east/mnt/images/f", []byte("/old/images"))
		for _, name := range []pfs.Path{"/pfs/east/mnt/images", "/pfs/east/mnt/images/f", "/pfs/east/mnt/images/new"} {
			for what, err := range map[string]error{
				"Mkdir": fsys.Mkdir(ctx, name, 0o755), "Remove": fsys.Remove(ctx, name), "RemoveTree": pfs.RemoveTree(ctx, fsys, name),
				"Chmod":      pfs.SetAttr(ctx, fsys, name, pfs.AttrMode, pfs.Attrs{Mode: 0o777}),
				"SetQuota":   pfs.SetQuota(ctx, fsys, name, 1000, 0),
				"Sweep":      sweep(ctx, fsys, name),
				"WriteBatch": pfs.WriteBatch(ctx, fsys, []pfs.BatchEntry{{Path: name}})[0],
			} {
				if !errors.Is(err, pfs.ReadOnly) {
					t.Errorf("%s of %s: %v, want ReadOnly", what, name, err)
				}
			}
		}
	}
	pfstest.WantNames(t, store, "/old/images", "f")
}

func sweep(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path) error {
	_, _, err := pfs.Sweep(ctx, fsys, dir, time.Hour)
	return err
}

// TestSweepsAboveAReadOnlyMappedDir: an administrator may still sweep the directories beside it.
func TestSweepsAboveAReadOnlyMappedDir(t *testing.T) {
	n, _ := mapped(t)
	fsys := n.View(admin, "")
	for dir, want := range map[pfs.Path]pfs.Kind{
		"/": pfs.ReadOnly, "/pfs": pfs.ReadOnly, "/pfs/east": pfs.ReadOnly, "/pfs/east/mnt": pfs.ReadOnly,
		"/pfs/east/home": yesKind, "/pfs/east/public": yesKind, "/pfs/public": yesKind, "/pfs/east/mnt/team": yesKind,
	} {
		if err := sweep(t.Context(), fsys, dir); want == yesKind && err != nil || want != yesKind && !errors.Is(err, want) {
			t.Errorf("sweep of %s: %v, want %v", dir, err, want)
		}
	}
}

func TestMountForWriting(t *testing.T) {
	n, store := mapped(t)
	ctx, fsys := t.Context(), n.View(bob, "")
	const dir pfs.Path = "/pfs/east/mnt/team"
	pfstest.WriteFile(t, fsys, dir.Join("new"), []byte("new"))
	pfstest.WantFile(t, store, "/old/team/new", []byte("new"))
	if err := fsys.Rename(ctx, dir.Join("new"), "/pfs/east/home/bob/new"); err != nil {
		t.Error(err)
	}
	pfstest.WantFile(t, store, "/pfs/home/bob/new", []byte("new"))
	if err := fsys.Mkdir(ctx, dir, 0o755); err != nil {
		t.Errorf("Mkdir of what is there: %v", err)
	}
	pfstest.WantKind(t, fsys.Remove(ctx, dir), pfs.Invalid)
	pfstest.WantKind(t, pfs.RemoveTree(ctx, fsys, dir), pfs.Invalid)
	pfstest.WantKind(t, fsys.Rename(ctx, dir, "/pfs/east/home/bob/x"), pfs.Invalid)
	pfstest.WantKind(t, pfs.SetAttr(ctx, fsys, dir, pfs.AttrMode, pfs.Attrs{Mode: 0o700}), pfs.ReadOnly)
	pfstest.WantKind(t, fsys.Remove(ctx, "/pfs/east/mnt"), pfs.Invalid)
	pfstest.WantKind(t, fsys.Mkdir(ctx, "/pfs/east/mnt/new", 0o755), pfs.Permission)
	pfstest.WantKind(t, pfs.SetQuota(ctx, fsys, dir, 1, 1), pfs.Permission)
	_, _, err := pfs.Sweep(ctx, fsys, dir, time.Hour)
	pfstest.WantKind(t, err, pfs.Permission)
	if err := pfs.SetQuota(ctx, n.View(admin, ""), dir, 1000, 0); err != nil {
		t.Error(err)
	}
	for _, id := range []auth.Identity{alice, admin} {
		for _, dir := range []pfs.Path{"/pfs/east", "/pfs/east/mnt", "/pfs/east/mnt/images"} {
			if u, err := pfs.UsageOf(ctx, n.View(id, ""), dir); err != nil || u.Files == 0 {
				t.Errorf("usage of %s for %q: %+v, %v", dir, id.Name, u, err)
			}
		}
	}
}

// TestLinksInMounts: links are paths of the tree, and lead nowhere else.
func TestLinksInMounts(t *testing.T) {
	n, store := mapped(t)
	pfstest.WriteFile(t, store, "/pfs/home/bob/f", []byte("bob's"))
	for link, target := range map[pfs.Path]string{
		"own": "f", "absolute": "/old/images/f", "home": "../../home/bob/f", "store": "/pfs/home/bob/f",
		"spelled": "/pfs/east/home/bob/f", "dark": "../dark/f", "out": "../../../../../../old/dark/f",
	} {
		pfstest.MustLink(t, store, target, "/old/images/"+link)
	}
	fsys := n.View(alice, "")
	pfstest.WantFile(t, fsys, "/pfs/east/mnt/images/own", []byte("/old/images"))
	for link, want := range map[pfs.Path]pfs.Kind{
		"absolute": pfs.NotExist, "home": pfs.Permission, "store": pfs.NotExist, "spelled": pfs.Permission, "dark": pfs.Permission, "out": pfs.NotExist,
	} {
		_, err := fsys.Open(t.Context(), "/pfs/east/mnt/images/"+link)
		if !errors.Is(err, want) {
			t.Errorf("link %s: %v, want %v", link, err, want)
		}
	}
	pfstest.WantFile(t, n.View(bob, ""), "/pfs/east/mnt/images/spelled", []byte("bob's"))
}

func TestMountsThatAreRefused(t *testing.T) {
	m := memfs.New(memfs.Options{})
	for what, dc := range map[string]namespace.Datacenter{
		"all":            {Mapped: []namespace.MappedDir{{Name: "m", Dir: "/"}}},
		"the homes":      {Mapped: []namespace.MappedDir{{Name: "m", Dir: "/home"}}},
		"a home":         {Mapped: []namespace.MappedDir{{Name: "m", Dir: "/home/bob"}}},
		"public":         {Mapped: []namespace.MappedDir{{Name: "m", Dir: "/public/set"}}},
		"above":          {Dir: "/a/b", Mapped: []namespace.MappedDir{{Name: "m", Dir: "/a"}}},
		"dir":            {Dir: "/a/b", Mapped: []namespace.MappedDir{{Name: "m", Dir: "/a/b"}}},
		"homes below":    {Dir: "/a/b", Mapped: []namespace.MappedDir{{Name: "m", Dir: "/a/b/home"}}},
		"snapshots":      {Dir: "/a", Mapped: []namespace.MappedDir{{Name: "m", Dir: "/a/.snapshot"}}},
		"a snapshot":     {Dir: "/a", Mapped: []namespace.MappedDir{{Name: "m", Dir: "/a/.snap/s/home/bob"}}},
		"one above":      {Dir: "/a", Mapped: []namespace.MappedDir{{Name: "m", Dir: "/.snap/s/a"}}},
		"by the inode":   {Dir: "/a", Mapped: []namespace.MappedDir{{Name: "m", Dir: "/.reserved/.inodes/7"}}},
		"no path":        {Mapped: []namespace.MappedDir{{Name: "m"}}},
		"dots":           {Mapped: []namespace.MappedDir{{Name: "m", Dir: "/a/../home"}}},
		"a bad dir":      {Dir: "a"},
		"a bad name":     {Mapped: []namespace.MappedDir{{Name: "a/b", Dir: "/a"}}},
		"the same twice": {Mapped: []namespace.MappedDir{{Name: "m", Dir: "/a"}, {Name: "m", Dir: "/b"}}},
	} {
		dc.Name, dc.FS = "dc", m
		if _, err := namespace.New(namespace.Config{Datacenters: []namespace.Datacenter{dc}}); !errors.Is(err, pfs.Invalid) {
			t.Errorf("%s: %v, want Invalid", what, err)
		}
	}
	for _, dir := range []pfs.Path{"/homes", "/a/home", "/other", "/other/.snapshot/s"} {
		dc := namespace.Datacenter{Name: "dc", FS: m, Mapped: []namespace.MappedDir{{Name: "m", Dir: dir}}}
		if _, err := namespace.New(namespace.Config{Datacenters: []namespace.Datacenter{dc}}); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestCheckTriesMounts(t *testing.T) {
	m := memfs.New(memfs.Options{})
	pfstest.MustMkdir(t, m, "/dir")
	pfstest.MustMkdir(t, m, "/dir/sub")
	pfstest.WriteFile(t, m, "/file", nil)
	pfstest.MustLink(t, m, "/dir", "/link")
	for dir, want := range map[pfs.Path]pfs.Kind{
		"/dir": yesKind, "/dir/sub": yesKind, "/none": pfs.NotExist, "/file": pfs.NotDir, "/link": pfs.Symlink, "/link/sub": pfs.Symlink,
	} {
		err := namespace.Datacenter{Name: "dc", FS: m, Mapped: []namespace.MappedDir{{Name: "m", Dir: dir}}}.CheckMapped(t.Context())
		if want == yesKind && err != nil || want != yesKind && !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", dir, err, want)
		}
	}
	err := namespace.Datacenter{Name: "dc", FS: m, Mapped: []namespace.MappedDir{
		{Name: "a", Dir: "/none"}, {Name: "b", Dir: "/dir"}, {Name: "c", Dir: "/file"},
	}}.CheckMapped(t.Context())
	const want = `mapped directory "a": /none: no such file or directory; mapped directory "c": /file: not a directory`
	if pfstest.WantKind(t, err, pfs.NotExist); !strings.HasSuffix(err.Error(), want) {
		t.Errorf("of two faults %v, want %s", err, want)
	}
}

// yesKind means success.
const yesKind = pfs.Kind(255)
