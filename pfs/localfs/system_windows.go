package localfs

import (
	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/sys/windows"
)

// nonBlocking is not needed: files on Windows do not wait for a peer.
const nonBlocking = 0

// spaceOf describes the file system that holds path.
func spaceOf(path string) (pfs.Space, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return pfs.Space{}, err
	}
	var mine, total, free uint64
	err = windows.GetDiskFreeSpaceEx(p, &mine, &total, &free)
	return pfs.Space{Total: int64(total), Used: int64(total - free), Free: int64(mine)}, err
}
