package namespace_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/namespace"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// A home that was removed on its store is created again as at first, by any call.
func TestHomesThatWereRemoved(t *testing.T) {
	n, store := newOwned(t)
	const at, dir = pfs.Path("/pfs/dc/home/bob"), pfs.Path("/pfs/home/bob")
	mine, adm := n.View(accounts[bob.Name], ""), n.View(accounts[admin.Name], "")
	for name, do := range map[string]func() error{
		"mkdir":                  func() error { return mine.Mkdir(t.Context(), at, 0o755) },
		"mkdir by administrator": func() error { return adm.Mkdir(t.Context(), at, 0o755) },
		"mkdir, old spelling":    func() error { return mine.Mkdir(t.Context(), "/pfs/dc/user/bob", 0o755) },
		"mkdir of what is in it": func() error { return mine.Mkdir(t.Context(), at.Join("d"), 0o755) },
		"create": func() error {
			w, err := mine.Create(t.Context(), at.Join("f"), pfs.CreateOptions{})
			if err != nil {
				return err
			}
			defer w.Close(t.Context())
			_, err = w.Commit(t.Context(), pfs.CommitOptions{})
			return err
		},
		"batch": func() error {
			return errors.Join(pfs.WriteBatch(t.Context(), mine, []pfs.BatchEntry{{Path: at.Join("a")}, {Path: at.Join("d"), Mode: fs.ModeDir | 0o755}, {Path: at.Join("d/b")}})...)
		},
		"batch with the home": func() error {
			return errors.Join(pfs.WriteBatch(t.Context(), adm, []pfs.BatchEntry{{Path: at, Mode: fs.ModeDir | 0o755}, {Path: at.Join("b")}})...)
		},
	} {
		if err := pfs.RemoveTree(t.Context(), store, dir); err != nil {
			t.Fatal(err)
		}
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if info := pfstest.MustStat(t, store, dir); info.Mode != fs.ModeDir|0o700 || info.Owner != "bob" {
			t.Errorf("%s: the home has mode %v and owner %q, want 0700 and bob", name, info.Mode, info.Owner)
		}
	}
	pfstest.MustMkdir(t, adm, "/pfs/dc/home/alice@example.org/d")
	for _, there := range []bool{true, false} {
		pfstest.WantKind(t, adm.Rename(t.Context(), "/pfs/dc/home/alice@example.org/d", at), pfs.Exist)
		pfstest.WantKind(t, pfs.RenameExclusive(t.Context(), adm, "/pfs/dc/home/alice@example.org/d", at), pfs.Exist)
		if there {
			if err := pfs.RemoveTree(t.Context(), store, dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A batch does not write an entry again because the homes of other entries, one or more, were
// missing.
func TestBatchWithHomesThatWereRemoved(t *testing.T) {
	n, store := newOwned(t)
	adm := n.View(accounts[admin.Name], "")
	homes := []pfs.Path{"/home/bob", "/home/alice@example.org"}
	for _, name := range homes {
		pfstest.MustMkdir(t, adm, pfs.Path("/pfs/dc")+name+"/d")
		if err := pfs.RemoveTree(t.Context(), store, "/pfs"+name); err != nil {
			t.Fatal(err)
		}
	}
	for i, err := range pfs.WriteBatch(t.Context(), adm, []pfs.BatchEntry{
		{Path: "/pfs/dc" + homes[0] + "/f"}, {Path: "/pfs/dc/public/f", NoReplace: true}, {Path: "/pfs/dc" + homes[1] + "/f"},
	}) {
		if err != nil {
			t.Errorf("entry %d: %v", i, err)
		}
	}
}

// A home that was removed with its account exists again, at once, for a new account of the same
// name.
func TestHomeOfAnAccountThatIsAddedAgain(t *testing.T) {
	store, gone := memfs.New(memfs.Options{}), false
	n, err := namespace.New(namespace.Config{
		Datacenters: []namespace.Datacenter{{Name: "dc", FS: store}},
		Account:     func(name string) (auth.Identity, bool) { return bob, name == bob.Name && !gone },
	})
	if err != nil {
		t.Fatal(err)
	}
	const at = pfs.Path("/pfs/dc/home/bob")
	for name, remove := range map[string]func(pfs.FileSystem) error{
		"remove":             func(f pfs.FileSystem) error { return f.Remove(t.Context(), at) },
		"tree":               func(f pfs.FileSystem) error { return pfs.RemoveTree(t.Context(), f, at) },
		"tree, old spelling": func(f pfs.FileSystem) error { return pfs.RemoveTree(t.Context(), f, "/pfs/dc/user/bob") },
	} {
		gone = false
		if err := n.EnsureHome(t.Context(), bob); err != nil {
			t.Fatal(err)
		}
		gone = true
		if err := remove(n.View(admin, "")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		gone = false
		if err := n.EnsureHome(t.Context(), bob); err != nil {
			t.Fatal(err)
		}
		if _, err := n.View(bob, "").Stat(t.Context(), at); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
