//go:build ceph

package main

import (
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestGatewaysOnCephFS runs the clients of all gateways on a CephFS.
func TestGatewaysOnCephFS(t *testing.T) {
	testbed.Long(t)
	testGateways(t, "CephFS", cephStore(t))
}
