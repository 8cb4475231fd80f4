//go:build ceph

package fuse

import (
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/cephfs"
)

// TestCeph compares a mount of CephFS with a local directory.
func TestCeph(t *testing.T) {
	needFuse(t)
	c := testbed.Ceph(t)
	store, err := cephfs.Open(t.Context(), cephfs.Options{Monitors: []string{c.Monitors}, FileSystem: c.FileSystem, User: c.User, Keyring: c.Keyring})
	must(t, err)
	t.Cleanup(func() { store.Close() })
	must(t, store.Mkdir(t.Context(), "/mounted", 0o755))
	compareOperations(t, store, Options{Root: "/mounted"})
}

// TestCephCached reads files of CephFS through a cache.
func TestCephCached(t *testing.T) {
	needFuse(t)
	c := testbed.Ceph(t)
	store, err := cephfs.Open(t.Context(), cephfs.Options{Monitors: []string{c.Monitors}, FileSystem: c.FileSystem, User: c.User, Keyring: c.Keyring})
	must(t, err)
	t.Cleanup(func() { store.Close() })
	must(t, store.Mkdir(t.Context(), "/cached", 0o755))
	readCached(t, store, "/cached")
}
