//go:build ceph

package main

import "testing"

// TestOwnersOnCephFS checks owners and the store's own permissions on a real CephFS.
func TestOwnersOnCephFS(t *testing.T) {
	testOwners(t, cephStore(t), map[string]string{"ann": "20000", "bob": "20001", "service": "0"})
}
