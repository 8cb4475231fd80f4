//go:build ceph

package cephfs

import (
	"math"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// forOwner and asOwner are For and As for valid users.
func forOwner(t *testing.T, f pfs.FileSystem, id uint32) pfs.FileSystem {
	t.Helper()
	given, err := pfs.WithOwner(f, pfs.Owner{UID: id, GID: id})
	if err != nil {
		t.Fatal(err)
	}
	return given
}

func asOwner(t *testing.T, f pfs.FileSystem, id uint32) pfs.FileSystem {
	t.Helper()
	as, err := pfs.Impersonate(f, pfs.Owner{UID: id, GID: id})
	if err != nil {
		t.Fatal(err)
	}
	return as
}

func TestForGivesOwner(t *testing.T) {
	f := own(t)
	alice := forOwner(t, f, 1234)
	pfstest.MustMkdir(t, alice, "/dir/below")
	pfstest.MustLink(t, alice, "f", "/dir/link")
	pfstest.MustLink(t, alice, "f", "/link")
	pfstest.WriteFile(t, alice, "/dir/f", []byte("content"))
	if errs := pfs.WriteBatch(t.Context(), alice, []pfs.BatchEntry{{Path: "/dir/g"}}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	for _, name := range []pfs.Path{"/dir", "/dir/below", "/dir/link", "/link", "/dir/f", "/dir/g"} {
		if info := pfstest.MustStat(t, f, name); info.Owner != "1234" || info.Group != "1234" {
			t.Errorf("%s belongs to %s:%s, want 1234:1234", name, info.Owner, info.Group)
		}
	}
	if err := alice.Mkdir(t.Context(), "/closed", 0o710); err != nil {
		t.Fatal(err)
	}
	if info := pfstest.MustStat(t, f, "/closed"); info.Mode.Perm() != 0o710 {
		t.Errorf("a directory made with mode 710 has %v", info.Mode)
	}
	pfstest.WriteFile(t, f, "/root", nil)
	if info := pfstest.MustStat(t, f, "/root"); info.Owner != "0" {
		t.Errorf("a file of the service belongs to %s", info.Owner)
	}
}

// TestOwnersAreEqual asks for the same owner twice: a service does at every request.
func TestOwnersAreEqual(t *testing.T) {
	f := pfs.FileSystem(FS{store: new(store)})
	if forOwner(t, f, 7) != forOwner(t, f, 7) || asOwner(t, f, 7) != asOwner(t, f, 7) {
		t.Error("one owner has two file systems")
	}
	for what, other := range map[string]pfs.FileSystem{
		"the store": f, "another owner's": forOwner(t, f, 8), "the one made as him": asOwner(t, f, 7),
	} {
		if forOwner(t, f, 7) == other {
			t.Errorf("an owner's file system is %s", what)
		}
	}
}

func TestOwnersRefused(t *testing.T) {
	f := FS{store: new(store)}
	for _, owner := range []pfs.Owner{
		{Name: "alice"}, {UID: 1}, {GID: 1}, {UID: math.MaxUint32, GID: 1}, {UID: 1, GID: math.MaxUint32},
	} {
		_, err := pfs.WithOwner(f, owner)
		pfstest.WantKind(t, err, pfs.Invalid)
		_, err = pfs.Impersonate(f, owner)
		pfstest.WantKind(t, err, pfs.Invalid)
	}
}

// TestAsKeepsPermissions reads alice's files as alice and as bob.
func TestAsKeepsPermissions(t *testing.T) {
	f := own(t)
	ctx := t.Context()
	alice, bob := asOwner(t, f, 1001), asOwner(t, f, 1002)
	pfstest.MustMkdir(t, forOwner(t, f, 1001), "/alice")
	if err := pfs.SetAttr(ctx, f, "/alice", pfs.AttrMode, pfs.Attrs{Mode: 0o750}); err != nil {
		t.Fatal(err)
	}
	pfstest.WriteFile(t, alice, "/alice/f", []byte("hers"))
	if info := pfstest.MustStat(t, f, "/alice/f"); info.Owner != "1001" {
		t.Errorf("alice's file belongs to %s", info.Owner)
	}
	pfstest.WantFile(t, alice, "/alice/f", []byte("hers"))
	_, opened := bob.Open(ctx, "/alice/f")
	_, listed := bob.List(ctx, "/alice", pfs.ListOptions{})
	_, created := bob.Create(ctx, "/alice/g", pfs.CreateOptions{})
	_, edited := pfs.OpenHandle(ctx, bob, "/alice/f", pfs.OpenWrite, 0)
	for what, err := range map[string]error{
		"Open":       opened,
		"List":       listed,
		"Create":     created,
		"OpenHandle": edited,
		"Remove":     bob.Remove(ctx, "/alice/f"),
		"RemoveTree": pfs.RemoveTree(ctx, bob, "/alice"),
		"Rename":     bob.Rename(ctx, "/alice/f", "/alice/g"),
		"Mkdir":      bob.Mkdir(ctx, "/bob", 0o755),
		"MakeLink":   pfs.MakeLink(ctx, bob, "f", "/link"),
		"Chmod":      pfs.SetAttr(ctx, bob, "/alice", pfs.AttrMode, pfs.Attrs{Mode: 0o777}),
		"WriteBatch": pfs.WriteBatch(ctx, bob, []pfs.BatchEntry{{Path: "/alice/g"}})[0],
	} {
		if pfs.KindOf(err) != pfs.Permission || err == nil {
			t.Errorf("%s as somebody else: %v, want Permission", what, err)
		}
	}
	pfstest.WantNames(t, f, "/alice", "f")
	pfstest.WantNames(t, f, pfs.Root, "alice")
}

// TestIdentity compares handles of uploads, of which one pair is the same upload.
func TestIdentity(t *testing.T) {
	f := own(t)
	ids := map[any]int{}
	id := pfs.NewID()
	for _, fsys := range []pfs.FileSystem{f, forOwner(t, f, 7)} {
		for _, name := range []pfs.Path{"/f", "/g"} {
			w, err := fsys.Create(t.Context(), name, pfs.CreateOptions{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close(t.Context())
			ids[pfs.IdentityOf(w)]++
		}
	}
	if len(ids) != 2 {
		t.Errorf("4 handles of 2 uploads have %d identities", len(ids))
	}
}
