//go:build ceph

package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
)

// TestHadoopShellOnCephFS runs Hadoop's own shell on a gateway over a CephFS.
func TestHadoopShellOnCephFS(t *testing.T) {
	testbed.Long(t)
	hdfs, c := testbed.HDFS(t), testbed.Ceph(t)
	at := "cephfs://" + c.Monitors + "/" + c.FileSystem + "/"
	top, err := backends.Open(t.Context(), backends.Spec{URL: at, Options: map[string]string{"user": c.User, "keyring": c.Keyring}}, backends.Caller{})
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
	hadoopScene(t, hdfs, fmt.Sprintf("datacenters:\n  local:\n    store: %s%s\n    options: {user: %s, keyring: %s}\n", at, dir, c.User, c.Keyring))
}
