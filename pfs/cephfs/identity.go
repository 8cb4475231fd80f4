//go:build ceph

package cephfs

import "github.com/paddlecloud/pfs/pfs"

// identity is the inode of a temporary: the same for all handles and mounts that write the file.
type identity struct {
	store *store
	ino   uint64
}

var _ pfs.Identifier = (*staged)(nil)

// Identity returns the identity of the temporary.
func (w *staged) Identity() any { return identity{w.fs.store, w.from.ino} }
