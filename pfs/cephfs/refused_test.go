//go:build ceph

package cephfs

import (
	"syscall"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestRefusedNamesWhatMayBeMissing, and nothing that is known to exist.
func TestRefusedNamesWhatMayBeMissing(t *testing.T) {
	const monitors = `the monitors mon1 have no file system "data"`
	for _, tt := range []struct{ keyring, root, want string }{
		{"/k", "/", monitors},
		{"/k", "/d", monitors + `, or no directory "/d" in it`},
		{"", "/d", `no key of client.ann in Ceph's default keyrings; or ` + monitors + `, or no directory "/d" in it`},
	} {
		opts := Options{Monitors: []string{"mon1"}, FileSystem: "data", User: "ann", Keyring: tt.keyring, Root: tt.root}
		err := refused(opts, syscall.ENOENT)
		pfstest.WantKind(t, err, pfs.Invalid)
		if got := err.Error(); got != pfs.Invalid.Error()+": "+tt.want {
			t.Errorf("keyring %q, root %q: %q, want %q", tt.keyring, tt.root, got, tt.want)
		}
	}
}
