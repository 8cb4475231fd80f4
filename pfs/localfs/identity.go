package localfs

import "github.com/paddlecloud/pfs/pfs"

// identity is the Identity of a temporary.
type identity struct {
	fs   *FS
	temp tempID
	dir  pfs.Path // where the system has no inodes that tell temporaries apart
}

var _ pfs.Identifier = (*staged)(nil)

// Identity returns the identity of the temporary.
func (w *staged) Identity() any {
	i := identity{fs: w.fs, temp: w.tempID()}
	if w.from.ino == 0 {
		i.dir = w.name.Parent()
	}
	return i
}
