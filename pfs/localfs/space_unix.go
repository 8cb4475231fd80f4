//go:build linux || darwin

package localfs

import (
	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/sys/unix"
)

// spaceOf describes the file system that holds path.
func spaceOf(path string) (pfs.Space, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return pfs.Space{}, err
	}
	unit := int64(st.Bsize)
	return pfs.Space{Total: int64(st.Blocks) * unit, Used: int64(st.Blocks-st.Bfree) * unit, Free: int64(st.Bavail) * unit}, nil
}
