//go:build ceph

package output

import (
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/cephfs"
)

// TestCephFS uploads to CephFS.
func TestCephFS(t *testing.T) {
	testbed.Long(t)
	c := testbed.Ceph(t)
	store, err := cephfs.Open(t.Context(), cephfs.Options{Monitors: []string{c.Monitors}, FileSystem: c.FileSystem, User: c.User, Keyring: c.Keyring})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	uploadTo(t, store, pfs.Path("/outputs-"+pfs.NewID()))
}
