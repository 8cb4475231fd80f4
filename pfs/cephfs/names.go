//go:build ceph

package cephfs

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unsafe"
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
// follows a nil pointer and ends the program.
type nameLocks struct {
	mu   sync.Mutex
	held map[dirName]*nameLock
}

// nameLock is the lock of one name, for as long as somebody has it or waits for it.
type nameLock struct {
	mu    sync.Mutex
	users int
}

// lock locks all of the names. It waits for a call of libcephfs, and so perhaps for the cluster.
func (l *nameLocks) lock(names []dirName) (unlock func()) {
	names = slices.SortedFunc(slices.Values(names), dirName.compare) // all callers take them in one order
	names = slices.Compact(names)
	for _, n := range names {
		l.use(n).mu.Lock()
	}
	return func() {
		for _, n := range names {
			l.release(n)
		}
	}
}

func (l *nameLocks) use(n dirName) *nameLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.held[n]
	if k == nil {
		k = new(nameLock)
		l.held[n] = k
	}
	k.users++
	return k
}

func (l *nameLocks) release(n dirName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.held[n]
	k.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.held, n)
	}
}
