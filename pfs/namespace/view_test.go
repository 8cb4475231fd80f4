package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/namespace"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

var (
	alice     = auth.Identity{Name: "alice@example.org", Role: auth.User}
	bob       = auth.Identity{Name: "bob", Role: auth.User}
	publisher = auth.Identity{Name: "pia", Role: auth.Publisher}
	admin     = auth.Identity{Name: "root", Role: auth.Admin}
)

// world is a namespace of two datacenters with the homes of all.
type world struct {
	*namespace.Namespace
	east, west *memfs.FS
}

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{east: memfs.New(memfs.Options{}), west: memfs.New(memfs.Options{})}
	var err error
	w.Namespace, err = namespace.New(namespace.Config{Datacenters: []namespace.Datacenter{{Name: "east", FS: w.east}, {Name: "west", FS: w.west}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.EnsureLayout(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []auth.Identity{alice, bob, publisher, admin} {
		if err := w.EnsureHome(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	pfstest.MustMkdir(t, w.east, "/home/bob/dir")
	pfstest.WriteFile(t, w.east, "/home/bob/f", []byte("bob's"))
	pfstest.WriteFile(t, w.east, "/public/set", []byte("eastern"))
	pfstest.WriteFile(t, w.west, "/public/set", []byte("western"))
	return w
}

// operations are all operations on one path.
var operations = map[string]func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error{
	"Open": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		_, err := fsys.Open(ctx, p)
		return err
	},
	"Stat": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		_, err := fsys.Stat(ctx, p)
		return err
	},
	"Mkdir":  func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error { return fsys.Mkdir(ctx, p, 0o755) },
	"Remove": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error { return fsys.Remove(ctx, p) },
	"Create": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		_, err := fsys.Create(ctx, p, pfs.CreateOptions{})
		return err
	},
	"List": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		_, err := fsys.List(ctx, p, pfs.ListOptions{})
		return err
	},
	"Rename from": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		return fsys.Rename(ctx, p, "/pfs/east/home/alice@example.org/stolen")
	},
	"Rename to": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		return fsys.Rename(ctx, "/pfs/east/home/alice@example.org/f", p)
	},
	"RenameExclusive": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		return pfs.RenameExclusive(ctx, fsys, "/pfs/east/home/alice@example.org/f", p)
	},
	"MakeLink": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		return pfs.MakeLink(ctx, fsys, "x", p)
	},
	"Chmod": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		return pfs.SetAttr(ctx, fsys, p, pfs.AttrMode, pfs.Attrs{Mode: 0o777})
	},
	"Chtime": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		return pfs.SetAttr(ctx, fsys, p, pfs.AttrModTime, pfs.Attrs{ModTime: time.Unix(0, 0)})
	},
	"OpenHandle": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		h, err := pfs.OpenHandle(ctx, fsys, p, pfs.OpenRead|pfs.OpenWrite|pfs.OpenCreate, 0o600)
		if err != nil {
			return err
		}
		return h.Close(ctx)
	},
	"SetXattr": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		return pfs.XattrsOf(fsys).SetXattr(ctx, p, "user.a", nil, 0)
	},
	"HardLink from": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		return pfs.HardLink(ctx, fsys, p, "/pfs/east/home/alice@example.org/second")
	},
	"HardLink to": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		return pfs.HardLink(ctx, fsys, "/pfs/east/home/alice@example.org/f", p)
	},
	"Mknod": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		return pfs.Mknod(ctx, fsys, p, fs.ModeNamedPipe|0o600, 0)
	},
	"Concat to": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		return pfs.Concat(ctx, fsys, p, []pfs.Path{"/pfs/east/home/alice@example.org/f"})
	},
	"RemoveTree": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error { return pfs.RemoveTree(ctx, fsys, p) },
	"Space": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		_, err := pfs.SpaceOf(ctx, fsys, p)
		return err
	},
	"Usage": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		_, err := pfs.UsageOf(ctx, fsys, p)
		return err
	},
	"SetQuota": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		return pfs.SetQuota(ctx, fsys, p, 1, 1)
	},
	"Sweep": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		_, _, err := pfs.Sweep(ctx, fsys, p, 0)
		return err
	},
	"CopyFile from": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		return copyFile(ctx, fsys, p, "/pfs/east/home/alice@example.org/copy")
	},
	"CopyFile to": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		return copyFile(ctx, fsys, "/pfs/east/home/alice@example.org/f", p)
	},
	"Digest": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		_, err := fsys.(pfs.Digester).Digest(ctx, p, "xxh3", nil)
		return err
	},
	"WriteBatch": func(ctx context.Context, fsys pfs.FileSystem, p pfs.Path) error {
		return pfs.WriteBatch(ctx, fsys, []pfs.BatchEntry{{Path: p}})[0]
	},
}

// copyFile copies as the service does: inside a store if possible.
func copyFile(ctx context.Context, fsys pfs.FileSystem, src, dst pfs.Path) error {
	_, err := pfs.CopyInside(ctx, fsys, src, dst, pfs.CopyOptions{}, nil)
	if !errors.Is(err, pfs.Unsupported) {
		return err
	}
	job, err := transfer.New(transfer.Options{Retry: retry.Never})
	if err != nil {
		return err
	}
	_, err = job.CopyFile(ctx, transfer.End{FS: fsys, Path: src}, transfer.End{FS: fsys, Path: dst}, pfs.CopyOptions{}, nil)
	return err
}

// TestGuessing tries to find out the content of another home, by every operation and every
// spelling: the answer must not depend on what exists.
func TestGuessing(t *testing.T) {
	ways := []string{
		"/pfs/east/home/%s", "/pfs/mine/home/%s", "/pfs/east/user/%s", "/pfs/mine/user/%s",
		"/pfs/east/home/alice@example.org/up/%s", "/pfs/east/home/alice@example.org/far/%s",
		"/pfs/east/home/alice@example.org/old/%s", "/pfs/east/home/alice@example.org/mine/%s",
		"/pfs/east/home/alice@example.org/chain/%s", "/pfs/west/home/%s",
	}
	there := []string{"bob", "bob/f", "bob/dir", "bob/f/x", "bob/dir/x"}
	missing := []string{"eve", "bob/g", "eve/dir", "bob/g/x", "eve/dir/x"}
	for name, op := range operations {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			fsys := w.View(alice, "mine")
			pfstest.WriteFile(t, fsys, "/pfs/east/home/alice@example.org/f", nil)
			for link, target := range map[pfs.Path]string{
				"up": "..", "far": "/pfs/east/home", "old": "/pfs/east/user", "mine": "/pfs/mine/home", "chain": "up/alice@example.org/far",
			} {
				pfstest.MustLink(t, fsys, target, "/pfs/east/home/alice@example.org/"+link)
			}
			for _, way := range ways {
				for i := range there {
					one, two := pfs.Path(fmt.Sprintf(way, there[i])), pfs.Path(fmt.Sprintf(way, missing[i]))
					err, other := op(t.Context(), fsys, one), op(t.Context(), fsys, two)
					if !errors.Is(err, pfs.Permission) || !errors.Is(other, pfs.Permission) {
						t.Fatalf("%s: %v, and %s: %v, want Permission twice", one, err, two, other)
					}
					if a, b := anonymous(err, one), anonymous(other, two); a != b {
						t.Errorf("what is there is told by %q and %q", a, b)
					}
				}
			}
			pfstest.WantFile(t, w.east, "/home/bob/f", []byte("bob's"))
			pfstest.WantNames(t, w.east, "/home/bob", "dir", "f")
			pfstest.WantNames(t, w.east, "/home", "alice@example.org", "bob", "pia", "root")
		})
	}
}

// anonymous returns the text of err without its path.
func anonymous(err error, name pfs.Path) string {
	return strings.ReplaceAll(err.Error(), string(name), "PATH")
}

// TestGuessingByTheLink makes links whose own target is in another home.
func TestGuessingByTheLink(t *testing.T) {
	w := newWorld(t)
	fsys := w.View(alice, "")
	const dir pfs.Path = "/pfs/east/home/alice@example.org"
	for _, to := range []string{"../bob/%s", "/pfs/east/home/bob/%s", "../bob/dir/../%s", "../../../east/user/bob/%s"} {
		var texts []string
		for i, name := range []string{"f", "g"} {
			link := dir.Join(fmt.Sprint("link-", i))
			pfstest.MustLink(t, fsys, fmt.Sprintf(to, name), link)
			for _, p := range []pfs.Path{link, link.Join("x")} {
				_, err := fsys.Open(t.Context(), p)
				if !errors.Is(err, pfs.Permission) {
					t.Errorf("Open of a link to "+to+": %v, want Permission", name, err)
				}
				texts = append(texts, anonymous(err, p))
			}
			if err := fsys.Remove(t.Context(), link); err != nil {
				t.Fatal(err)
			}
		}
		if texts[0] != texts[2] || texts[1] != texts[3] {
			t.Errorf("links to "+to+" tell: %q", "...", texts)
		}
	}
}

func TestListings(t *testing.T) {
	w := newWorld(t)
	rows := []struct {
		id    auth.Identity
		alias string
		dir   pfs.Path
		want  []string
	}{
		{alice, "", "/", []string{"pfs"}},
		{alice, "", "/pfs", []string{"east", "public", "west"}},
		{alice, "mine", "/pfs", []string{"mine", "public", "west"}},
		{alice, "west", "/pfs", []string{"east", "public", "west"}},
		{alice, "public", "/pfs", []string{"east", "public", "west"}},
		{alice, "a/b", "/pfs", []string{"east", "public", "west"}},
		{alice, "", "/pfs/west", []string{"home", "public"}},
		{alice, "mine", "/pfs/mine", []string{"home", "public"}},
		{alice, "", "/pfs/east/home", []string{"alice@example.org"}},
		{alice, "", "/pfs/east/user", []string{"alice@example.org"}},
		{publisher, "", "/pfs/west/home", []string{"pia"}},
		{auth.Identity{Name: "stranger", Role: auth.User}, "", "/pfs/east/home", nil},
		{auth.Identity{Name: "../bob", Role: auth.User}, "", "/pfs/east/home", nil},
		{auth.Identity{}, "", "/pfs/east/home", nil},
		{admin, "", "/pfs/east/home", []string{"alice@example.org", "bob", "pia", "root"}},
		{alice, "", "/pfs/public", []string{"set"}},
		{bob, "", "/pfs/east/home/bob", []string{"dir", "f"}},
	}
	for _, row := range rows {
		got := pfstest.Names(t, w.View(row.id, row.alias), row.dir)
		if !slices.Equal(got, row.want) {
			t.Errorf("%q with alias %q: %s has %q, want %q", row.id.Name, row.alias, row.dir, got, row.want)
		}
	}
}

// counted counts the listings of the homes.
type counted struct {
	*memfs.FS
	lists, mkdirs atomic.Int32
	err           error // of Mkdir
}

func (c *counted) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	if dir == "/home" {
		c.lists.Add(1)
	}
	return c.FS.List(ctx, dir, opts)
}

func (c *counted) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	c.mkdirs.Add(1)
	if c.err != nil {
		return c.err
	}
	return c.FS.Mkdir(ctx, name, mode)
}

func TestHomesAreNotPagedThrough(t *testing.T) {
	store := &counted{FS: memfs.New(memfs.Options{})}
	n, err := namespace.New(namespace.Config{Datacenters: []namespace.Datacenter{{Name: "dc", FS: store}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.EnsureHome(t.Context(), alice); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		pfstest.MustMkdir(t, store.FS, pfs.Path(fmt.Sprintf("/home/user-%d/dir", i)))
	}
	pfstest.WriteFile(t, store.FS, "/home/alice@example.org/f", []byte("12345"))
	fsys := n.View(alice, "")
	pfstest.WantNames(t, fsys, "/pfs/dc/home", alice.Name)
	for _, dir := range []pfs.Path{"/pfs/dc/home", "/pfs/dc/home/alice@example.org"} {
		u, err := pfs.UsageOf(t.Context(), fsys, dir)
		if err != nil || u.Files != 1 || u.Bytes != 5 {
			t.Errorf("usage of %s = %+v, %v, want one file of 5 bytes", dir, u, err)
		}
	}
	if got := store.lists.Load(); got != 0 {
		t.Errorf("the homes were listed %d times", got)
	}
}

// TestPublicIsCountedOnce in the usage of a tree that shows it under two names.
func TestPublicIsCountedOnce(t *testing.T) {
	w := newWorld(t)
	for _, alias := range []string{"", "mine"} {
		fsys := w.View(bob, alias)
		want := pfs.Usage{Bytes: 5 + 7 + 7, Files: 3, Dirs: 2 + 2*2 + 2 + 1} // datacenters, home and public, homes, dir
		for _, dir := range []pfs.Path{"/pfs", "/"} {
			u, err := pfs.UsageOf(t.Context(), fsys, dir)
			if err != nil || u != want {
				t.Errorf("usage of %s = %+v, %v, want %+v", dir, u, err, want)
			}
			want.Dirs++
		}
		if u, err := pfs.UsageOf(t.Context(), fsys, "/pfs/public"); err != nil || u.Bytes != 7 {
			t.Errorf("usage of /pfs/public = %+v, %v", u, err)
		}
	}
}

func TestPublic(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	for path, want := range map[pfs.Path]string{
		"/pfs/public/set": "eastern", "/pfs/east/public/set": "eastern", "/pfs/west/public/set": "western", "/pfs/mine/public/set": "eastern",
	} {
		pfstest.WantFile(t, w.View(alice, "mine"), path, []byte(want))
	}
	pfstest.WantKind(t, w.View(alice, "").Remove(ctx, "/pfs/public/set"), pfs.Permission)
	_, err := w.View(alice, "").Create(ctx, "/pfs/west/public/new", pfs.CreateOptions{})
	pfstest.WantKind(t, err, pfs.Permission)
	for _, id := range []auth.Identity{publisher, admin} {
		pfstest.WriteFile(t, w.View(id, ""), "/pfs/public/new", []byte(id.Name))
		pfstest.WantFile(t, w.east, "/public/new", []byte(id.Name))
	}
}

func TestErrorsKeepTheSpelling(t *testing.T) {
	fsys := newWorld(t).View(alice, "mine")
	for _, name := range []pfs.Path{
		"/pfs/mine/home/alice@example.org/missing", "/pfs/east/user/alice@example.org/missing",
		"/pfs/mine/user/alice@example.org/missing", "/pfs/public/missing", "/pfs/mine/public/missing",
		"/pfs/nowhere/x", "/pfs/nowhere/user/x", "/elsewhere", "/pfs/east/other",
	} {
		_, err := fsys.Stat(t.Context(), name)
		pfstest.WantKind(t, err, pfs.NotExist)
		var e *pfs.Error
		if errors.As(err, &e); e.Path != name {
			t.Errorf("error %v is about %s, want %s", err, e.Path, name)
		}
	}
	_, err := fsys.Stat(t.Context(), "/pfs/nowhere/x")
	if !strings.Contains(err.Error(), "mine, west") {
		t.Errorf("error %q does not name the datacenters", err)
	}
	info := pfstest.MustStat(t, fsys, "/pfs/mine")
	if info.Name != "mine" || !info.IsDir() {
		t.Errorf("Stat of the alias = %+v", info)
	}
}

func TestFixedDirectories(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	for _, id := range []auth.Identity{alice, publisher, admin} {
		fsys := w.View(id, "mine")
		for _, dir := range []pfs.Path{"/", "/pfs", "/pfs/east", "/pfs/mine", "/pfs/east/home", "/pfs/east/user", "/pfs/west/public", "/pfs/public"} {
			pfstest.WantKind(t, fsys.Remove(ctx, dir), pfs.Invalid)
			pfstest.WantKind(t, pfs.RemoveTree(ctx, fsys, dir), pfs.Invalid)
			pfstest.WantKind(t, fsys.Rename(ctx, dir, "/pfs/east/home/pia/x"), pfs.Invalid)
			pfstest.WantKind(t, pfs.SetAttr(ctx, fsys, dir, pfs.AttrMode, pfs.Attrs{Mode: 0o777}), pfs.ReadOnly)
			if err := fsys.Mkdir(ctx, dir, 0o755); err != nil {
				t.Errorf("Mkdir of %s, which is there: %v", dir, err)
			}
			if _, err := pfs.UsageOf(ctx, fsys, dir); err != nil {
				t.Errorf("usage of %s: %v", dir, err)
			}
		}
		own := pfs.Path("/pfs/east/home").Join(id.Name)
		pfstest.WantKind(t, pfs.RemoveTree(ctx, fsys, own), pfs.Invalid)
		pfstest.WantKind(t, fsys.Rename(ctx, own, own.Join("x")), pfs.Invalid)
		for _, name := range []pfs.Path{"/x", "/pfs/east/x"} {
			pfstest.WantKind(t, fsys.Mkdir(ctx, name, 0o755), pfs.ReadOnly)
		}
		pfstest.WantKind(t, fsys.Mkdir(ctx, "/pfs/x", 0o755), pfs.NotExist)
	}
	pfstest.WantFile(t, w.east, "/home/bob/f", []byte("bob's"))
}

func TestAdministrator(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	fsys := w.View(admin, "")
	pfstest.WantFile(t, fsys, "/pfs/east/home/bob/f", []byte("bob's"))
	pfstest.WriteFile(t, fsys, "/pfs/east/home/bob/g", []byte("given"))
	pfstest.WantFile(t, w.View(bob, ""), "/pfs/east/home/bob/g", []byte("given"))
	if err := pfs.SetQuota(ctx, fsys, "/pfs/east/home/bob", 1000, 0); err != nil {
		t.Fatal(err)
	}
	if u, err := pfs.UsageOf(ctx, w.View(bob, ""), "/pfs/east/home/bob"); err != nil || u.MaxBytes != 1000 {
		t.Errorf("usage = %+v, %v", u, err)
	}
	pfstest.WantKind(t, pfs.SetQuota(ctx, w.View(bob, ""), "/pfs/east/home/bob", 0, 0), pfs.Permission)
	if _, _, err := pfs.Sweep(ctx, fsys, "/pfs/west/home", time.Hour); err != nil {
		t.Error(err)
	}
	if err := pfs.RemoveTree(ctx, fsys, "/pfs/east/home/bob"); err != nil {
		t.Errorf("removing a home whose user has gone: %v", err)
	}
}

func TestAdministratorAndAccounts(t *testing.T) {
	store := memfs.New(memfs.Options{})
	n, err := namespace.New(namespace.Config{
		Datacenters: []namespace.Datacenter{{Name: "dc", FS: store}},
		Account: func(name string) (auth.Identity, bool) {
			return auth.Identity{Name: name}, name == "new" || name == admin.Name
		},
	})
	if err == nil {
		err = n.EnsureLayout(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, fsys := t.Context(), n.View(admin, "")
	if err := pfs.SetQuota(ctx, fsys, "/pfs/dc/home/new", 1000, 0); err != nil {
		t.Errorf("quota of an account that has not logged in yet: %v", err)
	}
	pfstest.WriteFile(t, fsys, "/pfs/dc/home/new/f", []byte("given"))
	for _, name := range []pfs.Path{"/pfs/dc/home/nwe", "/pfs/dc/home/nwe/f"} {
		pfstest.WantKind(t, fsys.Mkdir(ctx, name, 0o755), pfs.NotExist)
		_, err := fsys.Create(ctx, name, pfs.CreateOptions{})
		pfstest.WantKind(t, err, pfs.NotExist)
	}
	pfstest.MustMkdir(t, store, "/home/gone/dir")
	pfstest.WriteFile(t, store, "/home/gone/f", []byte("of a removed account"))
	pfstest.WantFile(t, fsys, "/pfs/dc/home/gone/f", []byte("of a removed account"))
	if err := pfs.RemoveTree(ctx, fsys, "/pfs/dc/home/gone"); err != nil {
		t.Errorf("removing the home of a removed account: %v", err)
	}
	pfstest.WantNames(t, store, "/home", "new")
}

func TestBetweenDatacenters(t *testing.T) {
	fsys := newWorld(t).View(bob, "mine")
	ctx := t.Context()
	const from, to pfs.Path = "/pfs/mine/home/bob/f", "/pfs/west/home/bob/f"
	err := fsys.Rename(ctx, from, to)
	pfstest.WantKind(t, err, pfs.CrossStore)
	if text := err.Error(); !strings.Contains(text, "cp or mv") || !strings.HasPrefix(text, string(to)) || !strings.Contains(text, string(from)) {
		t.Errorf("error %q", text)
	}
	pfstest.WantKind(t, pfs.RenameExclusive(ctx, fsys, from, to), pfs.CrossStore)
	_, err = pfs.CopyInside(ctx, fsys, from, to, pfs.CopyOptions{}, nil)
	pfstest.WantKind(t, err, pfs.CrossStore)
	if err := fsys.Rename(ctx, from, "/pfs/east/user/bob/renamed"); err != nil {
		t.Errorf("rename between two spellings of one datacenter: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	m := memfs.New(memfs.Options{})
	rows := map[string]namespace.Config{
		"nothing":         {},
		"a slash":         {Datacenters: []namespace.Datacenter{{Name: "a/b", FS: m}}},
		"no name":         {Datacenters: []namespace.Datacenter{{FS: m}}},
		"public":          {Datacenters: []namespace.Datacenter{{Name: "public", FS: m}}},
		"twice the same":  {Datacenters: []namespace.Datacenter{{Name: "a", FS: m}, {Name: "a", FS: m}}},
		"no file system":  {Datacenters: []namespace.Datacenter{{Name: "a"}}},
		"unknown current": {Datacenters: []namespace.Datacenter{{Name: "a", FS: m}}, Current: "b"},
	}
	for name, cfg := range rows {
		if _, err := namespace.New(cfg); !errors.Is(err, pfs.Invalid) {
			t.Errorf("%s: error %v, want Invalid", name, err)
		}
	}
}

// A user whose name is that of a store's snapshot directory has no home.
func TestNoHomeInSnapshots(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{".snap", ".snapshot"} {
		dir := pfs.Path("/home").Join(name)
		pfstest.MustMkdir(t, w.east, dir)
		pfstest.WriteFile(t, w.east, dir.Join("f"), []byte("ann's"))
		id := auth.Identity{Name: name, Role: auth.User}
		if err := w.EnsureHome(t.Context(), id); !errors.Is(err, pfs.Invalid) {
			t.Errorf("EnsureHome of %s = %v, want Invalid", name, err)
		}
		f, err := w.View(id, "").Open(t.Context(), pfs.Path("/pfs/east").Join("home").Join(name).Join("f"))
		if !errors.Is(err, pfs.Permission) {
			t.Errorf("%s opens %v, %v, want Permission", name, f, err)
		}
	}
}
