//go:build ceph

package cephfs

import "github.com/paddlecloud/pfs/pfs"

// snapDir is the name under which every directory shows its snapshots. Making or removing a name in
// it would make or remove a snapshot.
const snapDir = ".snap"

// writable returns ReadOnly for a snapshot and everything in one.
func writable(op string, name pfs.Path) error {
	for base := range name.Names() {
		if base == snapDir {
			return pfs.Errorf(op, name, pfs.ReadOnly, "%s shows snapshots, which cannot be changed", snapDir)
		}
	}
	return nil
}
