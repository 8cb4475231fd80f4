//go:build ceph

package cephfs

import (
	"cmp"
	"strings"
	"unsafe"

	"github.com/paddlecloud/pfs/pfs/internal/keylock"
)

// dirName is a name in a directory of one mount. libcephfs has one inode per directory while
// anybody holds it.
type dirName struct {
	in   *cInode
	name string
}

func (n dirName) compare(other dirName) int {
	return cmp.Or(cmp.Compare(uintptr(unsafe.Pointer(n.in)), uintptr(unsafe.Pointer(other.in))), strings.Compare(n.name, other.name))
}

// nameLocks serialises the calls of libcephfs that change the same name. A rename removes the old
// name from libcephfs's memory of the directory; if the cluster then refuses another change of that
// name, libcephfs follows a nil pointer and ends the program. Waiting for a lock means waiting for
// a call of libcephfs, and so perhaps for the cluster.
type nameLocks = keylock.Set[dirName]
