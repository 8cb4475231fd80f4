package namespace_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/namespace"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// newStore returns a store that knows users.
func newStore() *memfs.FS { return memfs.New(memfs.Options{User: "service"}) }

// mkSecret makes alice's /secret, which nobody else may enter.
func mkSecret(t *testing.T, store pfs.FileSystem) {
	t.Helper()
	owner, _ := accounts[alice.Name].Owner()
	hers, err := pfs.WithOwner(store, owner)
	if err == nil {
		err = hers.Mkdir(t.Context(), "/secret", 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// accounts are the users of the tests on the stores.
var accounts = map[string]auth.Identity{
	alice.Name:     {Name: alice.Name, Role: auth.User, HDFSUser: "alice", UID: 20001, GID: 20001},
	bob.Name:       {Name: bob.Name, Role: auth.User, HDFSUser: "bob", UID: 20002, GID: 20002},
	publisher.Name: {Name: publisher.Name, Role: auth.Publisher, HDFSUser: "pia", UID: 20003, GID: 20003},
	admin.Name:     {Name: admin.Name, Role: auth.Admin, HDFSUser: "adm", UID: 20004, GID: 20004},
}

func newOwned(t *testing.T, mounts ...namespace.MappedDir) (*namespace.Namespace, *memfs.FS) {
	t.Helper()
	store := newStore()
	n, err := namespace.New(namespace.Config{
		Datacenters: []namespace.Datacenter{{Name: "dc", FS: store, Dir: "/pfs", Mapped: mounts}},
		Account:     func(name string) (auth.Identity, bool) { id, ok := accounts[name]; return id, ok },
	})
	if err == nil {
		err = n.EnsureLayout(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range accounts {
		if err := n.EnsureHome(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	return n, store
}

func wantOwner(t *testing.T, store pfs.FileSystem, name pfs.Path, want string) {
	t.Helper()
	if got := pfstest.MustStat(t, store, name).Owner; got != want {
		t.Errorf("%s belongs to %q, want %q", name, got, want)
	}
}

func TestFilesBelongToTheirUsers(t *testing.T) {
	n, store := newOwned(t)
	for name, want := range map[pfs.Path]string{
		"/pfs": "service", "/pfs/home": "service", "/pfs/public": "service", "/pfs/home/alice@example.org": "alice", "/pfs/home/bob": "bob",
	} {
		wantOwner(t, store, name, want)
	}
	const home pfs.Path = "/pfs/dc/home/alice@example.org"
	mine, adm, pia := n.View(accounts[alice.Name], ""), n.View(accounts[admin.Name], ""), n.View(accounts[publisher.Name], "")
	pfstest.WriteFile(t, mine, home.Join("f"), []byte("f"))
	pfstest.MustMkdir(t, mine, home.Join("dir"))
	pfstest.WriteFile(t, mine, "/pfs/dc/user/alice@example.org/old", []byte("old"))
	pfstest.WriteFile(t, adm, home.Join("given"), nil)
	pfstest.WriteFile(t, pia, "/pfs/public/set", nil)
	for i, err := range pfs.WriteBatch(t.Context(), adm, []pfs.BatchEntry{
		{Path: home.Join("batch"), Data: []byte("1")}, {Path: "/pfs/dc/public/batch"}, {Path: "/pfs/dc/home/bob/batch"},
	}) {
		if err != nil {
			t.Errorf("entry %d: %v", i, err)
		}
	}
	for name, want := range map[pfs.Path]string{
		"/pfs/home/alice@example.org/f": "alice", "/pfs/home/alice@example.org/dir": "alice", "/pfs/home/alice@example.org/old": "alice",
		"/pfs/home/alice@example.org/given": "alice", "/pfs/public/set": "service",
		"/pfs/home/alice@example.org/batch": "alice", "/pfs/public/batch": "service", "/pfs/home/bob/batch": "bob",
	} {
		wantOwner(t, store, name, want)
	}
}

// TestStagedWritesAreTheSame reaches one upload by several names and people.
func TestStagedWritesAreTheSame(t *testing.T) {
	n, _ := newOwned(t)
	opts := pfs.CreateOptions{ID: pfs.NewID(), Size: 1}
	identity := func(who string, name pfs.Path) any {
		w, err := n.View(accounts[who], "mine").Create(t.Context(), name, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Suspend(t.Context())
		return pfs.IdentityOf(w)
	}
	first := identity(alice.Name, "/pfs/dc/home/alice@example.org/f")
	if first == nil {
		t.Fatal("no identity")
	}
	opts.Reopen = true
	for who, name := range map[string]pfs.Path{
		alice.Name: "/pfs/mine/user/alice@example.org/f", admin.Name: "/pfs/dc/home/alice@example.org/f",
	} {
		if again := identity(who, name); again != first {
			t.Errorf("%s has another upload at %s", who, name)
		}
	}
}

// TestWithinOneStore renames and copies between trees of different users.
func TestWithinOneStore(t *testing.T) {
	n, _ := newOwned(t)
	ctx, adm := t.Context(), n.View(accounts[admin.Name], "")
	pfstest.WriteFile(t, adm, "/pfs/dc/home/bob/f", []byte("bob's"))
	steps := []struct{ from, to pfs.Path }{
		{"/pfs/dc/home/bob/f", "/pfs/dc/home/alice@example.org/f"},
		{"/pfs/dc/home/alice@example.org/f", "/pfs/public/f"},
		{"/pfs/public/f", "/pfs/dc/home/bob/f"},
	}
	for _, s := range steps {
		if err := adm.Rename(ctx, s.from, s.to); err != nil {
			t.Errorf("rename %s to %s: %v", s.from, s.to, err)
		}
	}
	for _, to := range []pfs.Path{"/pfs/public/g", "/pfs/dc/home/alice@example.org/g"} {
		if err := pfs.RenameExclusive(ctx, adm, "/pfs/dc/home/bob/f", to); err != nil {
			t.Errorf("rename to %s: %v", to, err)
		}
		if _, err := pfs.CopyInside(ctx, adm, to, "/pfs/dc/home/bob/f", pfs.CopyOptions{}, nil); err != nil {
			t.Errorf("copy of %s: %v", to, err)
		}
		pfstest.WantFile(t, adm, "/pfs/dc/home/bob/f", []byte("bob's"))
	}
}

// TestNobodyOnTheStore uses an identity that a store cannot have: its files belong to the service,
// and it gets no user's rights.
func TestNobodyOnTheStore(t *testing.T) {
	n, store := newOwned(t, namespace.MappedDir{Name: "kept", Dir: "/secret", AsUser: true, Access: namespace.AccessList{Everybody: true}})
	mkSecret(t, store)
	for _, id := range []auth.Identity{
		{Name: "carl", Role: auth.User}, {Name: "carl", Role: auth.Admin}, {Name: "carl", Role: auth.User, HDFSUser: "carl"},
		{Name: "carl", Role: auth.User, UID: 1, GID: 1}, {Name: "carl", Role: auth.User, HDFSUser: "carl", UID: 7, GID: 0},
	} {
		if err := n.EnsureHome(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		wantOwner(t, store, "/pfs/home/carl", "service")
		_, err := n.View(id, "").Stat(t.Context(), "/pfs/dc/mnt/kept")
		pfstest.WantKind(t, err, pfs.Permission)
	}
}

// TestNobodyIsTheService uses an account with the service's own name on the store.
func TestNobodyIsTheService(t *testing.T) {
	n, store := newOwned(t, namespace.MappedDir{Name: "kept", Dir: "/secret", AsUser: true, Access: namespace.AccessList{Everybody: true}})
	mkSecret(t, store)
	_, err := n.View(auth.Identity{Name: "s", HDFSUser: "service", UID: 5, GID: 5}, "").Stat(t.Context(), "/pfs/dc/mnt/kept")
	pfstest.WantKind(t, err, pfs.Permission)
}

func TestFilesBelongToTheService(t *testing.T) {
	store := newStore()
	n, err := namespace.New(namespace.Config{Datacenters: []namespace.Datacenter{{Name: "dc", FS: store, ServiceOwns: true}}})
	if err != nil {
		t.Fatal(err)
	}
	id := accounts[alice.Name]
	if err := n.EnsureHome(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	pfstest.WriteFile(t, n.View(id, ""), "/pfs/dc/home/alice@example.org/f", nil)
	wantOwner(t, store, "/home/alice@example.org", "service")
	wantOwner(t, store, "/home/alice@example.org/f", "service")
}

func TestStoresPermissionsAreKept(t *testing.T) {
	n, store := newOwned(t,
		namespace.MappedDir{Name: "kept", Dir: "/secret", AsUser: true, Access: namespace.AccessList{Everybody: true}},
		namespace.MappedDir{Name: "open", Dir: "/open", Access: namespace.AccessList{Everybody: true}})
	mkSecret(t, store)
	pfstest.MustMkdir(t, store, "/open")
	pfstest.WriteFile(t, store, "/secret/f", []byte("secret"))
	mine, bobs := n.View(accounts[alice.Name], ""), n.View(accounts[bob.Name], "")
	ctx := t.Context()
	if info := pfstest.MustStat(t, mine, "/pfs/dc/mnt/kept/f"); info.Size != 6 {
		t.Errorf("alice sees %+v", info)
	}
	_, err := bobs.Stat(ctx, "/pfs/dc/mnt/kept/f")
	pfstest.WantKind(t, err, pfs.Permission)
	_, err = n.View(accounts[admin.Name], "").Stat(ctx, "/pfs/dc/mnt/kept/f")
	pfstest.WantKind(t, err, pfs.Permission)

	// Taking something out of it is not a rename with the rights of the service.
	const to pfs.Path = "/pfs/dc/home/bob/f"
	err = bobs.Rename(ctx, "/pfs/dc/mnt/kept/f", to)
	pfstest.WantKind(t, err, pfs.CrossStore)
	if !strings.Contains(err.Error(), "other rights") {
		t.Errorf("error %q speaks of another datacenter", err)
	}
	_, err = pfs.CopyInside(ctx, bobs, "/pfs/dc/mnt/kept/f", to, pfs.CopyOptions{}, nil)
	pfstest.WantKind(t, err, pfs.CrossStore)

	pfstest.WriteFile(t, bobs, "/pfs/dc/mnt/open/by-bob", []byte("b"))
	pfstest.WriteFile(t, mine, "/pfs/dc/mnt/kept/by-alice", []byte("a"))
	wantOwner(t, store, "/open/by-bob", "bob")
	wantOwner(t, store, "/secret/by-alice", "alice")
	if err := bobs.Rename(ctx, "/pfs/dc/mnt/open/by-bob", to); err != nil {
		t.Errorf("rename out of a mapped directory: %v", err)
	}
	if names := pfstest.Names(t, store, "/open"); !slices.Equal(names, nil) {
		t.Errorf("left: %q", names)
	}
}

// TestQuotaWhereTheStoresPermissionsAreKept has an administrator who is not a superuser of the
// store set the quota of a directory without access to it.
func TestQuotaWhereTheStoresPermissionsAreKept(t *testing.T) {
	n, store := newOwned(t, namespace.MappedDir{Name: "kept", Dir: "/secret", AsUser: true, Access: namespace.AccessList{Everybody: true}})
	mkSecret(t, store)
	pfstest.WriteFile(t, store, "/secret/f", []byte("secret"))
	const dir pfs.Path = "/pfs/dc/mnt/kept"
	ctx, adm, bobs := t.Context(), n.View(accounts[admin.Name], ""), n.View(accounts[bob.Name], "")
	if err := pfs.SetQuota(ctx, adm, dir, 1000, 10); err != nil {
		t.Errorf("quota set by an administrator: %v", err)
	}
	if u, err := pfs.UsageOf(ctx, adm, dir); err != nil || u.Bytes != 6 || u.MaxBytes != 1000 || u.MaxFiles != 10 {
		t.Errorf("an administrator sees %+v, %v", u, err)
	}
	pfstest.WantKind(t, pfs.SetQuota(ctx, n.View(accounts[alice.Name], ""), dir, 1, 1), pfs.Permission)
	_, err := pfs.UsageOf(ctx, bobs, dir)
	pfstest.WantKind(t, err, pfs.Permission)
	_, err = adm.List(ctx, dir, pfs.ListOptions{})
	pfstest.WantKind(t, err, pfs.Permission)
}

// cannot is a store that can neither change owners nor impersonate users, and returns the reason.
type cannot struct{ *memfs.FS }

func (cannot) WithOwner(pfs.Owner) (pfs.FileSystem, error) {
	return nil, pfs.Errorf("test.WithOwner", "", pfs.Unsupported, "no")
}

func (cannot) Impersonate(pfs.Owner) (pfs.FileSystem, error) {
	return nil, pfs.Errorf("test.Impersonate", "", pfs.Unsupported, "nobody believes it")
}

func TestStoreThatCannotActAsUsers(t *testing.T) {
	mount := namespace.MappedDir{Name: "kept", Dir: "/secret", AsUser: true, Access: namespace.AccessList{Everybody: true}}
	dc := namespace.Datacenter{Name: "dc", FS: cannot{memfs.New(memfs.Options{})}, Mapped: []namespace.MappedDir{mount}}
	pfstest.WantKind(t, dc.CheckAsUser(), pfs.Unsupported)
	n, err := namespace.New(namespace.Config{Datacenters: []namespace.Datacenter{dc}})
	if err != nil {
		t.Fatal(err)
	}
	id := accounts[alice.Name]
	if err := n.EnsureHome(t.Context(), id); err != nil {
		t.Errorf("a home on a store that cannot give it: %v", err)
	}
	pfstest.WriteFile(t, n.View(id, ""), "/pfs/dc/home/alice@example.org/f", nil)
	_, err = n.View(id, "").Stat(t.Context(), "/pfs/dc/mnt/kept")
	pfstest.WantKind(t, err, pfs.Unsupported)
	dc.FS = newStore()
	if err := dc.CheckAsUser(); err != nil {
		t.Error(err)
	}
}
