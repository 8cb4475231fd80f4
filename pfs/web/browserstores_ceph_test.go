//go:build ceph

package web

import (
	"fmt"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
)

// TestBrowserOnCephFS visits a real pfsd over a CephFS, in a directory that is left empty.
func TestBrowserOnCephFS(t *testing.T) {
	testbed.Long(t)
	c := testbed.Ceph(t)
	testBrowserOn(t, fmt.Sprintf("store: 'cephfs://%s/%s', dir: /web-%s, options: {user: %q, keyring: %q}", c.Monitors, c.FileSystem, pfs.NewID(), c.User, c.Keyring))
}
