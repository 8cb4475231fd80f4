//go:build ceph

package cephfs

import (
	"cmp"
	"strings"
	"unsafe"

	"github.com/paddlecloud/pfs/pfs/internal/keylock"
)

// dirName is a name in a directory of one mount. libcephfs has one inode for a directory as long as somebody holds it.
type dirName struct {
	in   *cInode
	name string
}

func (n dirName) compare(other dirName) int {
	return cmp.Or(cmp.Compare(uintptr(unsafe.Pointer(n.in)), uintptr(unsafe.Pointer(other.in))), strings.Compare(n.name, other.name))
}

// nameLocks lets one call of libcephfs at a time change a name. A rename takes the old name out of libcephfs's memory
// of the directory, and if another change of that name is on its way then and the cluster refuses it, libcephfs
// follows a nil pointer and ends the program. Who waits for a lock waits for a call of libcephfs, and so perhaps for
// the cluster.
type nameLocks = keylock.Set[dirName]
