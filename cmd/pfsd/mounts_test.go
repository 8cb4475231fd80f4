package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/namespace"
)

func TestWrongOwners(t *testing.T) {
	got := run(t, "", "check", "--config", writeConfig(t, t.TempDir(), "data: d\ndatacenters:\n  dc: {store: 'mem:', owners: me}\n"))
	if got.code != int(cliio.Usage) || !strings.Contains(got.stderr, `"me"`) {
		t.Errorf("code %d, %q", got.code, got.stderr)
	}
}

func TestWrongMounts(t *testing.T) {
	const head = "data: d\ndatacenters:\n  dc:\n    store: 'mem:'\n    mounts:\n"
	for _, tt := range []struct{ name, text, says string }{
		{"a list", "    - a\n", ":6: mounts: a list"},
		{"a text", "      m: /a\n", ":6:"},
		{"no path", "      m: {access: everybody}\n", `"path:" is missing`},
		{"no access", "      m: {path: /a}\n", `"access:" is missing`},
		{"an unknown key", "      m: {pat: /a}\n", `did you mean "path"`},
		{"a relative path", "      m: {path: a, access: everybody}\n", `"a" is not a path`},
		{"dots", "      m: {path: /a/../home, access: everybody}\n", "not a path"},
		{"an unknown role", "      m: {path: /a, access: 'role:boss'}\n", `"role:boss"`},
		{"a bare name", "      m: {path: /a, access: [everybody, bob]}\n", `"bob"`},
		{"no flag", "      m: {path: /a, access: everybody, write: perhaps}\n", "true or false"},
		{"a home", "      m: {path: /home/bob, access: everybody}\n", "/home"},
		{"the store", "      m: {path: /, access: everybody}\n", "/home"},
		{"a slash in the name", "      a/b: {path: /a, access: everybody}\n", "a/b"},
		{"twice", "      m: {path: /a, access: everybody}\n      m: {path: /b, access: everybody}\n", "line 6"},
	} {
		dir := t.TempDir()
		got := run(t, "", "check", "--config", writeConfig(t, dir, head+tt.text))
		if got.code != int(cliio.Usage) || !strings.Contains(got.stderr, tt.says) {
			t.Errorf("%s: code %d, stderr %q, want %q", tt.name, got.code, got.stderr, tt.says)
		}
	}
}

// A directory of one datacenter must not be the homes of another.
func TestMountsOfDatacentersOnOneStore(t *testing.T) {
	for text, says := range map[string]string{
		"  a: {store: 'hdfs://n1,n2/', dir: /a, mounts: {m: {path: /b/home, access: everybody}}}\n  b: {store: 'hdfs://n2,n1/b'}\n":   "/pfs/b/home",
		"  a: {store: 'hdfs://n1/', dir: /a, mounts: {m: {path: /b, access: everybody}}}\n  b: {store: 'hdfs://n1/', dir: /b}\n":      "/pfs/b/home",
		"  a: {store: 'file:///s/x', mounts: {m: {path: /y/public/z, access: everybody}}}\n  b: {store: 'file:///s/x', dir: /y}\n":    "/pfs/b/public",
		"  a: {store: 'hdfs://n1/', dir: /a, mounts: {m: {path: /b, access: everybody}}}\n  b: {store: 'hdfs://other/', dir: /b}\n":   "",
		"  a: {store: 'hdfs://n1/', dir: /a, mounts: {m: {path: /b/data, access: everybody}}}\n  b: {store: 'hdfs://n1/', dir: /b}\n": "",
	} {
		f, err := loadConfigFile(writeConfig(t, t.TempDir(), "data: d\ndatacenters:\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		err = checkApart(f.datacenters)
		if says == "" && err != nil || says != "" && (!errors.Is(err, pfs.Invalid) || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// TestStoresThatAreSpelledOtherwise: one directory is known by each of its spellings, and the
// message names both places of the tree.
func TestStoresThatAreSpelledOtherwise(t *testing.T) {
	dir, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	there := filepath.ToSlash(dir)
	spell := func(dcs ...string) (list []datacenter) {
		for i, text := range dcs {
			store, more, _ := strings.Cut(text, " ")
			d := datacenter{name: string(rune('a' + i)), store: backends.Spec{URL: store}}
			for _, field := range strings.Fields(more) {
				key, value, _ := strings.Cut(field, "=")
				if key == "dir" {
					d.dir = pfs.Path(value)
				} else {
					d.mounts = append(d.mounts, namespace.MappedDir{Name: key, Dir: pfs.Path(value)})
				}
			}
			list = append(list, d)
		}
		return list
	}
	for _, row := range []struct {
		dcs  []datacenter
		want string // the two places; empty if there are none
	}{
		{spell("file://"+there, "file://"+there), "/pfs/a/home and /pfs/b/home"},
		{spell("file://"+there, "file://localhost"+there), "/pfs/a/home and /pfs/b/home"},
		{spell("file://"+there, "file://"+there+"/"), "/pfs/a/home and /pfs/b/home"},
		{spell("file://"+there, "file://"+filepath.ToSlash(link)), "/pfs/a/home and /pfs/b/home"},
		{spell("file://"+there+"/x", "file://"+filepath.ToSlash(link)+"/x"), "/pfs/a/home and /pfs/b/home"},
		{spell("file://"+there+" dir=/x", "file://"+there+"/x/home"), "/pfs/a/home and /pfs/b/home"},
		{spell("hdfs://n1/", "hdfs://N1:8020/"), "/pfs/a/home and /pfs/b/home"},
		{spell("hdfs://n1,n2/", "hdfs://n2/"), "/pfs/a/home and /pfs/b/home"},
		{spell("hdfs://n1/ dir=/a", "hdfs://n1:8020/ dir=/b m=/a/home/bob"), "/pfs/a/home and /pfs/b/mnt/m"},
		{spell("hdfs://n1/ dir=/a m=/data", "hdfs://n1/ dir=/b n=/data/set"), "/pfs/a/mnt/m and /pfs/b/mnt/n"},
		{spell("hdfs://n1/ dir=/a m=/data n=/data"), "/pfs/a/mnt/m and /pfs/a/mnt/n"},
		{spell("cephfs://m1/", "cephfs://m1:6789/"), "/pfs/a/home and /pfs/b/home"},
		{spell("cephfs://m1", "cephfs://m1/"), "/pfs/a/home and /pfs/b/home"},
		{spell("cephfs://m1/fs", "cephfs://m1/fs/"), "/pfs/a/home and /pfs/b/home"},
		{spell("cephfs://m1/fs dir=/a", "cephfs://m1/fs/a/.snap/s dir=/b m=/home"), "/pfs/a/home and /pfs/b/mnt/m"},
		{spell("hdfs://n1:8020,n2/", "hdfs://n2,n1:8020/"), "/pfs/a/home and /pfs/b/home"},
		{spell("hdfs://n1", "hdfs://n1/"), "/pfs/a/home and /pfs/b/home"},
		{spell("hdfs://n1/ dir=/a", "hdfs://n1/.reserved/raw dir=/b m=/c"), "/pfs/a/home and /pfs/b/home"},
		{spell("hdfs:///?conf-dir=/etc/a", "hdfs:///?conf-dir=/etc/a"), "/pfs/a/home and /pfs/b/home"},
		{spell("hdfs://n1/?conf-dir=/etc/a", "hdfs://n1/"), "/pfs/a/home and /pfs/b/home"},

		{spell("hdfs:///?conf-dir=/etc/a", "hdfs:///?conf-dir=/etc/b"), ""},
		{spell("hdfs://service1/?conf-dir=/etc/a", "hdfs://service1/?conf-dir=/etc/b"), ""},
		{spell("hdfs://n1/", "hdfs://n1:9000/"), ""},
		{spell("cephfs://m1/fs", "cephfs://m1/other"), ""},
		{spell("hdfs://n1/", "cephfs://n1/"), ""},
		{spell("hdfs://n1/ dir=/a", "hdfs://n1/ dir=/b"), ""},
		{spell("hdfs://n1/ dir=/a m=/data n=/data/.snapshot/s"), ""},
		{spell("file://"+there+"/x", "file://"+there+"/y"), ""},
		{spell("mem:", "mem:"), ""},
	} {
		err := checkApart(row.dcs)
		if row.want == "" && err != nil || row.want != "" && (!errors.Is(err, pfs.Invalid) || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%v: %v, want %q", row.dcs, err, row.want)
		}
	}
}

// mountsConfig is a configuration over a store that had directories before.
func mountsConfig(t *testing.T, more string) (config, store string) {
	t.Helper()
	store = filepath.Join(t.TempDir(), "store")
	for _, dir := range []string{"warehouse/images", "warehouse/team"} {
		if err := os.MkdirAll(filepath.Join(store, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(store, "warehouse/images/cat"), []byte("meow"), 0o644); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`datacenters:
  dc:
    store: %s
    dir: /pfs
    mounts:
      images: {path: /warehouse/images, access: everybody%s}
      team: {path: /warehouse/team, access: ["user:ann", "role:admin"], write: true}
`, backends.FileURL(store), more)
	return writeConfig(t, t.TempDir(), text), store
}

func TestServeMounts(t *testing.T) {
	config, store := mountsConfig(t, "")
	s := start(t, dataFor(t), "--config", config)
	ann, _ := s.login(t, "ann")
	bob, _ := s.login(t, "bob")
	if got, err := get(t, bob, "/pfs/dc/mnt/images/cat"); got != "meow" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if err := put(t, ann, "/pfs/dc/mnt/images/dog", "woof"); !errors.Is(err, pfs.ReadOnly) {
		t.Errorf("ann writes into what is mapped for reading: %v", err)
	}
	if err := put(t, ann, "/pfs/dc/mnt/team/dog", "woof"); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(store, "warehouse", "team", "dog")); string(got) != "woof" {
		t.Errorf("the store has %q, %v", got, err)
	}
	if _, err := get(t, bob, "/pfs/dc/mnt/team/dog"); !errors.Is(err, pfs.Permission) {
		t.Errorf("bob reads what is for ann: %v", err)
	}
	for name, c := range map[string]pfs.FileSystem{"images team": ann, "images": bob} {
		var names []string
		for e, err := range pfs.Entries(t.Context(), c, "/pfs/dc/mnt", nil) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, e.Name)
		}
		if got := strings.Join(names, " "); got != name {
			t.Errorf("listed: %q, want %q", got, name)
		}
	}
	if err := put(t, bob, "/pfs/dc/home/bob/f", "f"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(store, "pfs", "home", "bob", "f")); err != nil {
		t.Error(err)
	}
}

// A store that cannot impersonate users cannot apply their permissions: this is reported at the
// start.
func TestMountsWithTheStoresPermissions(t *testing.T) {
	config, _ := mountsConfig(t, ", as-user: true")
	const says = `mapped directory "images"`
	got := run(t, "", "serve", "--data", dataFor(t), "--listen", "127.0.0.1:0", "--config", config)
	if got.code != int(cliio.Failed) || !strings.Contains(got.stderr, says) {
		t.Errorf("serve: code %d, %q", got.code, got.stderr)
	}
	got = run(t, "", "check", "--data", dataFor(t), "--config", config)
	if got.code != int(cliio.Partly) || !strings.Contains(got.stdout, says) {
		t.Errorf("check: code %d, %q", got.code, got.stdout)
	}
}

// giver is a store that can give directories to users, or may not.
type giver struct {
	*memfs.FS
	err error
}

func (g giver) WithOwner(pfs.Owner) (pfs.FileSystem, error) { return given{g}, nil }

type given struct{ giver }

func (g given) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	if g.err != nil {
		return g.err
	}
	return g.FS.Mkdir(ctx, name, mode)
}

func TestProbeOfOwners(t *testing.T) {
	denied := pfs.E("test.Mkdir", "/x", pfs.Permission, nil)
	for _, row := range []struct {
		dc  datacenter
		err error
	}{
		{datacenter{name: "dc"}, nil}, {datacenter{name: "dc", dir: "/pfs"}, nil},
		{datacenter{name: "dc"}, denied}, {datacenter{name: "dc", serviceOwns: true}, denied},
	} {
		store := giver{memfs.New(memfs.Options{}), row.err}
		_, err := (&trial{}).probe(t.Context(), row.dc, store)
		if want := row.err != nil && !row.dc.serviceOwns; want != errors.Is(err, pfs.Permission) || want && !strings.Contains(err.Error(), "owners: service") {
			t.Errorf("%+v: %v", row.dc, err)
		}
		page, err := store.List(t.Context(), "/", pfs.ListOptions{})
		if err != nil || len(page.Entries) != 0 {
			t.Errorf("%+v: left %+v, %v", row.dc, page.Entries, err)
		}
	}
}

func TestCheckLooksAtMounts(t *testing.T) {
	config, store := mountsConfig(t, "")
	got := run(t, "", "check", "--data", dataFor(t), "--config", config)
	if got.code != 0 {
		t.Errorf("code %d, %q", got.code, got.stdout)
	}
	if names, err := filepath.Glob(filepath.Join(store, "*")); err != nil || len(names) != 1 {
		t.Errorf("check left %q, %v", names, err)
	}
	if err := os.RemoveAll(filepath.Join(store, "warehouse", "images")); err != nil {
		t.Fatal(err)
	}
	got = run(t, "", "check", "--data", dataFor(t), "--config", config)
	if got.code != int(cliio.Partly) || !strings.Contains(got.stdout, "/warehouse/images") {
		t.Errorf("without the directory: code %d, %q", got.code, got.stdout)
	}
}
