package aferofs

import (
	"io/fs"
	"syscall"
)

// stampOf returns what tells one content of a file from the next: the number of
// its inode, and the time, in nanoseconds, that changes with the content. On a
// disk that is the time of the inode's last change, which nobody can set; elsewhere
// it is the modification time.
func stampOf(fi fs.FileInfo) (inode uint64, stamp int64) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ino, st.Ctim.Nano()
	}
	return 0, fi.ModTime().UnixNano()
}
