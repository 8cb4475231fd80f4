//go:build ceph

package cephfs

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// optionsOf are the options for the whole of the cluster's file system.
func optionsOf(c testbed.CephCluster) Options {
	return Options{Monitors: []string{c.Monitors}, Keyring: c.Keyring, User: c.User, FileSystem: c.FileSystem}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openStore opens a store until the end of the test.
func openStore(t testing.TB, opts Options) FS {
	t.Helper()
	s, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(FS)
}

var lastRoot atomic.Int64

// newDir makes an empty directory in the shared cluster and removes it when the test ends.
func newDir(t testing.TB, f FS) pfs.Path {
	t.Helper()
	name := pfs.Root.Join(fmt.Sprintf("test-%s-%d", pfs.NewID(), lastRoot.Add(1)))
	pfstest.MustMkdir(t, f, name)
	t.Cleanup(func() {
		if err := again(func() error { return f.RemoveTree(context.Background(), name) }); err != nil {
			t.Error(err)
		}
	})
	return name
}

// openEmpty opens an empty directory of the cluster's file system as a store.
func openEmpty(t testing.TB, opts Options) FS {
	t.Helper()
	opts.Root = string(newDir(t, openStore(t, opts)))
	return openStore(t, opts)
}

// tree is a directory of a store as a separate tree, for one owner of new files: a mount for each
// test of the suite would take longer than the tests.
type tree struct {
	*pfs.Layer
	f     FS
	trees *trees
}

// trees are the trees of one directory, one for each FS.
type trees struct {
	dir  pfs.Path
	mu   sync.Mutex
	made map[FS]*tree
}

func (ts *trees) of(f FS) *tree {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.made[f] == nil {
		ts.made[f] = &tree{pfstest.NewSub(f, ts.dir), f, ts}
	}
	return ts.made[f]
}

func (t *tree) WithOwner(owner pfs.Owner) (pfs.FileSystem, error) {
	return t.owned(t.f.WithOwner(owner))
}

func (t *tree) Impersonate(owner pfs.Owner) (pfs.FileSystem, error) {
	return t.owned(t.f.Impersonate(owner))
}

func (t *tree) owned(f pfs.FileSystem, err error) (pfs.FileSystem, error) {
	if err != nil {
		return nil, err
	}
	return t.trees.of(f.(FS)), nil
}

func TestConformance(t *testing.T) {
	c := testbed.Ceph(t)
	one, other := openStore(t, optionsOf(c)), openStore(t, optionsOf(c))
	pfstest.Run(t, pfstest.Options{
		New: func(t *testing.T) pfs.FileSystem {
			return (&trees{dir: newDir(t, one), made: map[FS]*tree{}}).of(one)
		},
		Reopen: func(_ *testing.T, fsys pfs.FileSystem) pfs.FileSystem { return fsys.(*tree).trees.of(other) },
		Gaps:   pfstest.LooseQuota | pfstest.NoConcat | pfstest.NoReplication | pfstest.NoAllocate | pfstest.NoBlockLocations,
		Names:  3000, Parallel: true,
		Owners: []pfs.Owner{{UID: 1001, GID: 1001}, {UID: 1002, GID: 1002}},
	})
}
