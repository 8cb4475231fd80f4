package namespace

import (
	"context"
	"fmt"
	"io/fs"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// flaky is a store whose Mkdir counts, and fails with err.
type flaky struct {
	*memfs.FS
	mkdirs int
	err    error
}

func (f *flaky) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	f.mkdirs++
	if f.err != nil {
		return f.err
	}
	return f.FS.Mkdir(ctx, name, mode)
}

// twoStores returns a namespace of two stores, and its clock.
func twoStores(t *testing.T) (n *Namespace, one, two *flaky, now *time.Time) {
	t.Helper()
	one, two = &flaky{FS: memfs.New(memfs.Options{})}, &flaky{FS: memfs.New(memfs.Options{})}
	n, err := New(Config{Datacenters: []Datacenter{{Name: "one", FS: one}, {Name: "two", FS: two}}})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1e9, 0)
	n.now = func() time.Time { return at }
	return n, one, two, &at
}

func mustEnsure(t *testing.T, n *Namespace, user string) {
	t.Helper()
	if err := n.EnsureHome(t.Context(), auth.Identity{Name: user}); err != nil {
		t.Fatal(err)
	}
}

// A home without a quota gets the default one, whether it is new or not; a quota that an
// administrator has set stays.
func TestHomeQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memfs.New(memfs.Options{})
		for _, name := range []pfs.Path{"/home", "/home/old", "/home/rich"} {
			pfstest.MustMkdir(t, store, name)
		}
		if err := pfs.SetQuota(t.Context(), store, "/home/rich", 0, 7); err != nil {
			t.Fatal(err)
		}
		n, err := New(Config{
			Datacenters: []Datacenter{{Name: "dc", FS: store, HomeQuota: Quota{Bytes: 1000, Files: 10}}},
			Account:     func(name string) (auth.Identity, bool) { return auth.Identity{Name: name}, true },
		})
		if err != nil {
			t.Fatal(err)
		}
		want := func(name pfs.Path, bytes, files int64) {
			t.Helper()
			if u, err := pfs.UsageOf(t.Context(), store, name); err != nil || u.MaxBytes != bytes || u.MaxFiles != files {
				t.Errorf("quota of %s = %d bytes, %d files, %v; want %d, %d", name, u.MaxBytes, u.MaxFiles, err, bytes, files)
			}
		}
		for _, user := range []string{"new", "old", "rich"} {
			mustEnsure(t, n, user)
		}
		want("/home/new", 1000, 10)
		want("/home/old", 1000, 10)
		want("/home/rich", 0, 7)

		if err := store.Remove(t.Context(), "/home/new"); err != nil {
			t.Fatal(err)
		}
		admin := n.View(auth.Identity{Name: "ada", Role: auth.Admin}, "")
		pfstest.MustMkdir(t, admin, "/pfs/dc/home/new/dir")
		want("/home/new", 1000, 10)

		if err := pfs.SetQuota(t.Context(), store, "/home/old", 0, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(quotaKept)
		mustEnsure(t, n, "old")
		synctest.Wait()
		want("/home/old", 1000, 10)
	})
}

func TestEnsureHome(t *testing.T) {
	n, one, two, now := twoStores(t)
	mustEnsure(t, n, "bob@example.org")
	for _, store := range []*flaky{one, two} {
		if mode := pfstest.MustStat(t, store, "/home/bob@example.org").Mode; mode != fs.ModeDir|0o700 {
			t.Errorf("mode = %v, want 0700", mode)
		}
		pfstest.WantNames(t, store, "/", "home", "public")
	}
	before := one.mkdirs
	for range 10 {
		mustEnsure(t, n, "bob@example.org")
	}
	if one.mkdirs != before {
		t.Errorf("%d calls for a home that was seen", one.mkdirs-before)
	}
	if err := one.Remove(t.Context(), "/home/bob@example.org"); err != nil {
		t.Fatal(err)
	}
	*now = now.Add(homeKept)
	mustEnsure(t, n, "bob@example.org")
	pfstest.WantNames(t, one, "/home", "bob@example.org")
}

func TestEnsureHomeWhileAStoreIsDown(t *testing.T) {
	n, one, two, now := twoStores(t)
	two.err = pfs.E("test.Mkdir", "", pfs.Unavailable, nil)
	mustEnsure(t, n, "bob")
	for _, user := range []string{"bob", "alice", "bob"} {
		mustEnsure(t, n, user)
	}
	if two.mkdirs != 1 {
		t.Errorf("a store that is down was asked %d times in a minute", two.mkdirs)
	}
	one.err = two.err
	pfstest.WantKind(t, n.EnsureHome(t.Context(), auth.Identity{Name: "carol"}), pfs.Unavailable)
	one.err, two.err = nil, nil
	*now = now.Add(storeLeft)
	mustEnsure(t, n, "bob")
	mustEnsure(t, n, "carol")
	pfstest.WantNames(t, two, "/home", "bob", "carol")
}

func TestEnsureHomeRefuses(t *testing.T) {
	n, one, two, _ := twoStores(t)
	for _, name := range []string{"", "..", "a/b", "../bob", ".pfs-quota", "a\x00"} {
		pfstest.WantKind(t, n.EnsureHome(t.Context(), auth.Identity{Name: name}), pfs.Invalid)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	pfstest.WantKind(t, n.EnsureHome(ctx, auth.Identity{Name: "bob"}), pfs.Canceled)
	mustEnsure(t, n, "bob")
	for _, store := range []*flaky{one, two} {
		pfstest.WriteFile(t, store, "/home/file", nil)
	}
	pfstest.WantKind(t, n.EnsureHome(t.Context(), auth.Identity{Name: "file"}), pfs.Exist)
	mustEnsure(t, n, "carol")
}

func TestEnsureLayoutTriesAll(t *testing.T) {
	n, one, two, _ := twoStores(t)
	one.err = pfs.E("test.Mkdir", "", pfs.Unavailable, nil)
	pfstest.WantKind(t, n.EnsureLayout(t.Context()), pfs.Unavailable)
	pfstest.WantNames(t, two, "/", "home", "public")
	one.err = nil
	if err := n.EnsureLayout(t.Context()); err != nil {
		t.Fatal(err)
	}
	pfstest.WantNames(t, one, "/", "home", "public")
}

// sluggish is a store whose Mkdir takes its time.
type sluggish struct{ *memfs.FS }

func (s sluggish) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	time.Sleep(time.Minute)
	return s.FS.Mkdir(ctx, name, mode)
}

func TestEnsureLayoutDoesNotWaitForOneStoreAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := New(Config{Datacenters: []Datacenter{
			{Name: "one", FS: sluggish{memfs.New(memfs.Options{})}}, {Name: "two", FS: sluggish{memfs.New(memfs.Options{})}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = n.EnsureLayout(t.Context())
		if took := time.Since(began); err != nil || took != 2*time.Minute { // of two directories
			t.Errorf("it took %v, want that of one store; %v", took, err)
		}
	})
}

// silentStore is a store whose Mkdir, while it is silent, answers after a timeout.
type silentStore struct {
	*memfs.FS
	silent atomic.Bool
}

const timeout = 15 * time.Second

func (s *silentStore) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	if s.silent.Load() {
		time.Sleep(timeout)
		return pfs.E("test.Mkdir", name, pfs.Unavailable, nil)
	}
	return s.FS.Mkdir(ctx, name, mode)
}

// TestEnsureHomeOnSilentStores checks that a request does not wait for a store that it may not
// need, and that it waits for several at the same time.
func TestEnsureHomeOnSilentStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stores []*silentStore
		config := Config{}
		for _, name := range []string{"one", "two", "three"} {
			s := &silentStore{FS: memfs.New(memfs.Options{})}
			stores = append(stores, s)
			config.Datacenters = append(config.Datacenters, Datacenter{Name: name, FS: s})
		}
		n, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		took := func(user string) time.Duration {
			began := time.Now()
			mustEnsure(t, n, user)
			return time.Since(began)
		}
		took("alice")
		for _, s := range stores[1:] {
			s.silent.Store(true)
		}
		time.Sleep(homeKept)
		if got := took("alice"); got > homeWait {
			t.Errorf("a user who was there waits for %v", got)
		}
		if got := took("alice"); got > 0 {
			t.Errorf("the next request waits for %v", got)
		}
		if got := took("bob"); got > timeout {
			t.Errorf("a new user waits for %v, with two silent stores", got)
		}
		for _, s := range stores {
			s.silent.Store(false)
		}
		time.Sleep(storeLeft)
		took("bob")
		pfstest.WantNames(t, stores[2].FS, "/home", "alice", "bob")
	})
}

// TestWhatIsRememberedIsBounded checks that homes and versions are forgotten, the oldest first, and
// stores are not.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	n, _, _, now := twoStores(t)
	n.look("one", 1000*storeLeft)
	for i := range 3 * maxChecks / 2 {
		n.look(fmt.Sprintf("one/user%d", i), homeKept)
	}
	if got := len(n.checks); got > maxChecks || n.due("one") {
		t.Errorf("%d are remembered, the store that is left alone is not: %v", got, n.due("one"))
	}
	*now = now.Add(homeKept)
	for i := range maxChecks / 2 {
		n.look(fmt.Sprintf("two/user%d", i), homeKept)
	}
	if !n.seen("two/user0") || n.seen("one/user0") {
		t.Error("a home was forgotten for those that it was time to look at again")
	}
	mustEnsure(t, n, "alice")
}
