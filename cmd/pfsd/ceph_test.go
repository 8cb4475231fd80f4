//go:build ceph

package main

import (
	"context"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
)

// cephStore returns a directory of a real CephFS, which is removed when the test ends.
func cephStore(t *testing.T) backends.Spec {
	t.Helper()
	c := testbed.Ceph(t)
	spec := backends.Spec{
		URL:     "cephfs://" + c.Monitors + "/" + c.FileSystem + "/",
		Options: map[string]string{"user": c.User, "keyring": c.Keyring},
	}
	top, err := backends.Open(t.Context(), spec, backends.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	dir := "pfsd-" + pfs.NewID()
	if err := top.Mkdir(t.Context(), pfs.Root.Join(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pfs.RemoveTree(context.Background(), top.FileSystem, pfs.Root.Join(dir)); err != nil {
			t.Error(err)
		}
		top.Close()
	})
	spec.URL += dir
	return spec
}
