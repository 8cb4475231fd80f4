package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
)

// TestOwnersOnHDFS checks owners and the store's own permissions on a real HDFS.
func TestOwnersOnHDFS(t *testing.T) {
	c := testbed.HDFS(t)
	testOwners(t, hdfsStore(t, c), map[string]string{"ann": "ann", "bob": "bob", "service": c.Superuser})
}

// hdfsStore returns a directory of an HDFS, which is removed when the test ends.
func hdfsStore(t *testing.T, c *testbed.HDFSCluster) backends.Spec {
	t.Helper()
	return backends.Spec{URL: "hdfs://" + c.Scratch(t), Options: map[string]string{"conf-dir": c.ConfDir, "user": c.Superuser}}
}

// datacenters is a part of a configuration: a store as the datacenter local.
func datacenters(store backends.Spec) string {
	return fmt.Sprintf("datacenters:\n  local:\n    store: %s\n%s", store.URL, options(store))
}

// options is the part of a configuration with the options of a store.
func options(store backends.Spec) string {
	if len(store.Options) == 0 {
		return ""
	}
	text := "    options:\n"
	for _, name := range slices.Sorted(maps.Keys(store.Options)) {
		text += fmt.Sprintf("      %s: %q\n", name, store.Options[name])
	}
	return text
}

// people are the accounts that start makes, as the stores have them.
var people = map[string]pfs.Owner{
	"ann": {Name: "ann", UID: 20000, GID: 20000}, "bob": {Name: "bob", UID: 20001, GID: 20001},
}

// testOwners serves a store with directories of ann's that were there before. owners are the names
// of people on the store.
func testOwners(t *testing.T, spec backends.Spec, owners map[string]string) {
	store, err := backends.Open(t.Context(), spec, backends.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	prepareOwners(t, store.FileSystem)

	config := fmt.Sprintf("datacenters:\n  dc:\n    store: %s\n    dir: /pfs\n    mounts:\n", spec.URL) +
		"      kept: {path: /before, access: everybody, as-user: true, write: true}\n" +
		"      open: {path: /apart, access: everybody}\n" + options(spec)
	file := writeConfig(t, t.TempDir(), config)
	if got := run(t, "", "check", "--data", dataFor(t), "--config", file); got.code != 0 {
		t.Fatalf("check: code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	s := start(t, dataFor(t), "--config", file)
	ann, _ := s.login(t, "ann")
	bob, _ := s.login(t, "bob")

	if err := errors.Join(put(t, ann, "/pfs/dc/home/ann/f", "ann's"), ann.Mkdir(t.Context(), "/pfs/dc/home/ann/d", 0o755),
		put(t, ann, "/pfs/dc/mnt/kept/private/new", "new"), bob.Mkdir(t.Context(), "/pfs/dc/home/bob", 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[pfs.Path]string{
		"/pfs/home": "service", "/pfs/home/ann": "ann", "/pfs/home/bob": "bob", "/pfs/home/ann/f": "ann", "/pfs/home/ann/d": "ann",
		"/before/private/new": "ann",
	} {
		info, err := store.Stat(t.Context(), name)
		if err != nil || info.Owner != owners[want] {
			t.Errorf("%s belongs to %q, want %q: %v", name, info.Owner, owners[want], err)
		}
	}
	for what, again := range map[string]func() error{
		"mkdir": func() error { return bob.Mkdir(t.Context(), "/pfs/dc/home/bob", 0o755) },
		"put":   func() error { return put(t, bob, "/pfs/dc/home/bob/f", "bob's") },
	} {
		err := errors.Join(pfs.RemoveTree(t.Context(), store, "/pfs/home/bob"), again())
		info, serr := store.Stat(t.Context(), "/pfs/home/bob")
		if err := errors.Join(err, serr); err != nil || info.Mode.Perm() != 0o700 || info.Owner != owners["bob"] {
			t.Errorf("%s makes a home again with mode %v and owner %q: %v", what, info.Mode, info.Owner, err)
		}
	}
	if got, err := get(t, ann, "/pfs/dc/mnt/kept/private/f"); got != "old" || err != nil {
		t.Errorf("ann reads %q, %v", got, err)
	}
	if got, err := get(t, bob, "/pfs/dc/mnt/kept/private/f"); !errors.Is(err, pfs.Permission) {
		t.Errorf("bob reads %q, %v where the store keeps him out", got, err)
	}
	if err := put(t, bob, "/pfs/dc/mnt/kept/of-bob", "x"); !errors.Is(err, pfs.Permission) {
		t.Errorf("bob writes where the store keeps him out: %v", err)
	}
	if got, err := get(t, bob, "/pfs/dc/mnt/open/f"); got != "old" || err != nil {
		t.Errorf("bob reads %q, %v where the service lets everybody in", got, err)
	}
	if err := ann.Rename(t.Context(), "/pfs/dc/mnt/kept/private/new", "/pfs/dc/home/ann/new"); !errors.Is(err, pfs.CrossStore) {
		t.Errorf("a rename with the rights of the service out of what the store protects: %v", err)
	}
}

// prepareOwners makes /before, which is the service's, and private directories of ann's in it and
// beside it.
func prepareOwners(t *testing.T, store pfs.FileSystem) {
	t.Helper()
	ctx := t.Context()
	ann, err := pfs.WithOwner(store, people["ann"])
	if err == nil {
		err = store.Mkdir(ctx, "/before", 0o755)
	}
	for _, dir := range []pfs.Path{"/before/private", "/apart"} {
		if err == nil {
			err = errors.Join(ann.Mkdir(ctx, dir, 0o700), put(t, ann, dir.Join("f"), "old"))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range []pfs.Path{"/before", "/apart", "/pfs"} {
			if err := pfs.RemoveTree(context.Background(), store, name); err != nil && !errors.Is(err, pfs.NotExist) {
				t.Error(err)
			}
		}
	})
}

// A cluster with Kerberos does not let the service act as others.
func TestOwnersOnHDFSWithKerberos(t *testing.T) {
	c := testbed.HDFSSecure(t)
	config := fmt.Sprintf(`datacenters:
  dc:
    store: hdfs://%s
    options: {conf-dir: %q, principal: nn/localhost, keytab: %q}
    mounts:
      kept: {path: /before, access: everybody, as-user: true}
`, c.Scratch(t), c.ConfDir, c.Keytabs+"/nn.keytab")
	file := writeConfig(t, t.TempDir(), config)
	for _, args := range [][]string{{"check"}, {"serve", "--listen", "127.0.0.1:0"}} {
		got := run(t, "", append(args, "--data", dataFor(t), "--config", file)...)
		if said := got.stdout + got.stderr; got.code == 0 || !strings.Contains(said, `mapped directory "kept"`) || !strings.Contains(said, "Kerberos") {
			t.Errorf("%s: code %d\n%s", args[0], got.code, said)
		}
	}
}
