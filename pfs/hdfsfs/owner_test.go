package hdfsfs

import (
	"fmt"
	"io/fs"
	"runtime"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// as returns the store as the user may use it.
func as(t *testing.T, f *FS, user string) pfs.FileSystem {
	t.Helper()
	u, err := pfs.Impersonate(f, pfs.Owner{Name: user})
	must(t, err)
	return u
}

// TestImpersonate keeps the permissions of the store.
func TestImpersonate(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	alice, bob := as(t, f, "alice"), as(t, f, "bob")
	if as(t, f, "alice") != alice || alice == bob {
		t.Error("a user has two file systems, or two users have one")
	}
	must(t, alice.Mkdir(t.Context(), "/alice", 0o700))
	info := pfstest.WriteFile(t, alice, "/alice/f", pfstest.Pattern(1, 2*small))
	if info.Owner != "alice" {
		t.Errorf("owner %q, want alice", info.Owner)
	}
	_, err := bob.Open(t.Context(), "/alice/f")
	pfstest.WantKind(t, err, pfs.Permission)
	_, err = bob.Create(t.Context(), "/alice/g", pfs.CreateOptions{})
	pfstest.WantKind(t, err, pfs.Permission)
	_, err = bob.List(t.Context(), "/alice", pfs.ListOptions{})
	pfstest.WantKind(t, err, pfs.Permission)
	pfstest.WantKind(t, bob.Remove(t.Context(), "/alice"), pfs.Permission)
	pfstest.WantKind(t, bob.Rename(t.Context(), "/alice/f", "/f"), pfs.Permission)
	pfstest.WantKind(t, pfs.WriteBatch(t.Context(), bob, []pfs.BatchEntry{{Path: "/alice/h"}})[0], pfs.Permission)
	// A directory that others may read: nothing is sent that could not be published.
	must(t, alice.Mkdir(t.Context(), "/open", 0o755))
	_, err = bob.Create(t.Context(), "/open/f", pfs.CreateOptions{Size: 10 * small})
	pfstest.WantKind(t, err, pfs.Permission)
	w, err := alice.Create(t.Context(), "/open/f", pfs.CreateOptions{Size: 10 * small})
	must(t, err)
	must(t, w.Close(t.Context()))
	_, err = f.Impersonate(pfs.Owner{Name: "no/name"})
	pfstest.WantKind(t, err, pfs.Invalid)
	_, err = f.Impersonate(pfs.Owner{Name: c.Superuser})
	pfstest.WantKind(t, err, pfs.Permission)
}

// TestChmodKeepsTheStickyBit of a directory that was made with it by other means.
func TestChmodKeepsTheStickyBit(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	must(t, f.Mkdir(t.Context(), "/shared", 0o755))
	err := f.chmod(t.Context(), f.at("/shared"), stickyBit|0o777)
	must(t, err)
	must(t, pfs.SetAttr(t.Context(), f, "/shared", pfs.AttrMode, pfs.Attrs{Mode: 0o770}))
	st, err := f.status(t.Context(), "/shared")
	must(t, err)
	if st.Mode != fs.ModeDir|fs.ModeSticky|0o770 {
		t.Errorf("mode %v, want a sticky bit that is kept, and 0770", st.Mode)
	}
	pfstest.WantKind(t, pfs.SetAttr(t.Context(), f, "/none", pfs.AttrMode, pfs.Attrs{Mode: 0o770}), pfs.NotExist)
	pfstest.WantKind(t, pfs.SetAttr(t.Context(), f, "/none/below", pfs.AttrMode, pfs.Attrs{Mode: 0o770}), pfs.NotExist)
}

// TestWithOwner checks that new files belong to the owner, and existing ones keep theirs.
func TestWithOwner(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	alice, err := pfs.WithOwner(f, pfs.Owner{Name: "alice"})
	must(t, err)
	pfstest.WriteFile(t, f, "/old", []byte("content"))
	must(t, alice.Mkdir(t.Context(), "/home", 0o700))
	must(t, alice.Mkdir(t.Context(), "/home", 0o700))
	pfstest.WriteFile(t, alice, "/home/f", pfstest.Pattern(1, 2*small))
	must(t, alice.Rename(t.Context(), "/old", "/home/old"))
	for _, err := range pfs.WriteBatch(t.Context(), alice, []pfs.BatchEntry{{Path: "/home/g", Data: []byte("small")}, {Path: "/home/dir", Mode: fs.ModeDir | 0o755}}) {
		must(t, err)
	}
	for name, want := range map[pfs.Path]string{"/home": "alice", "/home/f": "alice", "/home/g": "alice", "/home/dir": "alice", "/home/old": c.Superuser} {
		if got := pfstest.MustStat(t, f, name).Owner; got != want {
			t.Errorf("owner of %s is %q, want %q", name, got, want)
		}
	}
	pfstest.WantKind(t, alice.Mkdir(t.Context(), "/home/f", 0o700), pfs.Exist)
	pfstest.WantKind(t, alice.Mkdir(t.Context(), "/home/f/below", 0o700), pfs.NotDir)
	pfstest.WantKind(t, alice.Mkdir(t.Context(), "/none/below", 0o700), pfs.NotExist)
	pfstest.WantNames(t, as(t, f, "alice"), "/home", "dir", "f", "g", "old")
	_, err = f.WithOwner(pfs.Owner{Name: "alice@example.org"})
	pfstest.WantKind(t, err, pfs.Invalid)
}

// TestWithOwnerWithoutRights has a service that is not a superuser: the error names the missing
// right, and nothing is left behind.
func TestWithOwnerWithoutRights(t *testing.T) {
	c := testbed.HDFS(t)
	o := options(c, c.Scratch(t))
	o.User = "nobody"
	f := open(t, o)
	alice, err := f.WithOwner(pfs.Owner{Name: "alice"})
	must(t, err)
	pfstest.WantKind(t, alice.Mkdir(t.Context(), "/home", 0o700), pfs.Permission)
	w, err := alice.Create(t.Context(), "/f", pfs.CreateOptions{})
	must(t, err)
	defer w.Close(t.Context())
	_, err = w.Commit(t.Context(), pfs.CommitOptions{})
	pfstest.WantKind(t, err, pfs.Permission)
	pfstest.WantNames(t, f, pfs.Root)
}

// TestOthers checks that file systems of other users are shared while referenced, and that few are
// kept otherwise.
func TestOthers(t *testing.T) {
	var o others
	get := func(user string) *FS {
		return o.get(acting{user: user}, func(w acting) *FS {
			return &FS{acting: w, client: &client{rpc: rpc.New(rpc.Options{}), leases: new(leases)}}
		})
	}
	first := get("first")
	for i := range 3 * maxOthers {
		get(fmt.Sprint(i))
	}
	if get("first") != first {
		t.Error("a user has two file systems")
	}
	runtime.KeepAlive(first)
	if o.recent.Len() != maxOthers || len(o.kept) != maxOthers {
		t.Errorf("%d and %d are kept, want %d", o.recent.Len(), len(o.kept), maxOthers)
	}
	o.close()
}
