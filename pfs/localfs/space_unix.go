//go:build linux || darwin

package localfs

import (
	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/sys/unix"
)

// spaceOf reports the file system that holds path.
func spaceOf(path string) (pfs.Space, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return pfs.Space{}, err
	}
	return pfs.Space{Total: int64(st.Blocks) * int64(st.Bsize), Free: int64(st.Bavail) * int64(st.Bsize)}, nil
}
