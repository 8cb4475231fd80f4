//go:build ceph

package cephfs

import (
	"context"
	"fmt"
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

// newDir makes an empty directory of the cluster's file system, for as long as the test runs: the
// cluster is small and shared.
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

func TestConformance(t *testing.T) {
	c := testbed.Ceph(t)
	one, other := openStore(t, optionsOf(c)), openStore(t, optionsOf(c))
	dirs := map[pfs.FileSystem]pfs.Path{}
	pfstest.Run(t, pfstest.Options{
		New: func(t *testing.T) pfs.FileSystem {
			dir := newDir(t, one)
			f := one.Below(dir)
			dirs[f] = dir
			return f
		},
		Reopen: func(t *testing.T, fsys pfs.FileSystem) pfs.FileSystem {
			return other.Below(dirs[fsys])
		},
		Gaps:   pfstest.LooseQuota | pfstest.NoBlockLocations,
		Names:  3000,
		Owners: []pfs.Owner{{UID: 1001, GID: 1001}, {UID: 1002, GID: 1002}},
	})
}
