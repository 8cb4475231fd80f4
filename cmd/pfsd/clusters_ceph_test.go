//go:build ceph

package main

import (
	"fmt"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestCephFSNamedInTwoWays is TestHDFSNamedInTwoWays for a CephFS, named explicitly and as the
// cluster's default.
func TestCephFSNamedInTwoWays(t *testing.T) {
	c := testbed.Ceph(t)
	first := fmt.Sprintf("{store: 'cephfs://%s/%s', options: {keyring: %q}, dir: /two-ways}", c.Monitors, c.FileSystem, c.Keyring)
	second := fmt.Sprintf("{store: 'cephfs:///', options: {conf: %q, keyring: %q}, dir: /two-ways-other, mounts: {h: {path: /two-ways/home, access: everybody}}}",
		c.Conf, c.Keyring)
	testNamedInTwoWays(t, first, second)
}
