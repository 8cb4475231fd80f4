package localfs

import "github.com/paddlecloud/pfs/pfs"

// identity is that of a temporary in a store.
type identity struct {
	fs   *FS
	temp tempID
	dir  pfs.Path // where the system has no inodes that tell temporaries apart
}

var _ pfs.Identifier = (*staged)(nil)

// Identity is the temporary's.
func (w *staged) Identity() any {
	i := identity{fs: w.fs, temp: w.tempID()}
	if w.from.ino == 0 {
		i.dir = w.name.Parent()
	}
	return i
}
