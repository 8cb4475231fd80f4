//go:build ceph

package cephfs

import (
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

// openStore opens a store until the end of the test.
func openStore(t testing.TB, opts Options) *FS {
	t.Helper()
	s, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(*FS)
}

var lastRoot atomic.Int64

// newRoot makes an empty directory in the cluster and returns its options.
func newRoot(t testing.TB, c testbed.CephCluster, top *FS) Options {
	t.Helper()
	name := pfs.Root.Join(fmt.Sprintf("test-%s-%d", pfs.NewID(), lastRoot.Add(1)))
	pfstest.MustMkdir(t, top, name)
	opts := optionsOf(c)
	opts.Root = string(name)
	return opts
}

func TestConformance(t *testing.T) {
	c := testbed.Ceph(t)
	top := openStore(t, optionsOf(c))
	roots := map[pfs.FileSystem]Options{}
	at := func(t *testing.T, opts Options) pfs.FileSystem {
		f := openStore(t, opts)
		roots[f] = opts
		return f
	}
	pfstest.Run(t, pfstest.Options{
		New:    func(t *testing.T) pfs.FileSystem { return at(t, newRoot(t, c, top)) },
		Reopen: func(t *testing.T, fsys pfs.FileSystem) pfs.FileSystem { return at(t, roots[fsys]) },
		Names:  3000,
	})
}
