//go:build ceph

package cephfs

import "github.com/paddlecloud/pfs/pfs"

// identity is that of a temporary: the file that it is, whoever made it and over whichever mount it is
// written.
type identity struct {
	store *store
	ino   uint64
}

var _ pfs.Identifier = (*staged)(nil)

// Identity is the temporary's.
func (w *staged) Identity() any { return identity{w.fs.store, w.from.ino} }
