package localfs

import (
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/sys/windows"
)

// systemKinds are the numbers that only this system has.
var systemKinds = map[syscall.Errno]pfs.Kind{
	windows.ERROR_DIR_NOT_EMPTY:        pfs.NotEmpty,
	windows.ERROR_DIRECTORY:            pfs.NotDir,
	windows.ERROR_DISK_FULL:            pfs.NoSpace,
	windows.ERROR_HANDLE_DISK_FULL:     pfs.NoSpace,
	windows.ERROR_NOT_SAME_DEVICE:      pfs.CrossStore,
	windows.ERROR_WRITE_PROTECT:        pfs.ReadOnly,
	windows.ERROR_SHARING_VIOLATION:    pfs.Conflict,
	windows.ERROR_LOCK_VIOLATION:       pfs.Conflict,
	windows.ERROR_INVALID_NAME:         pfs.Invalid,
	windows.ERROR_FILENAME_EXCED_RANGE: pfs.Invalid,
	windows.ERROR_TOO_MANY_OPEN_FILES:  pfs.Limit,
	windows.ERROR_NOT_READY:            pfs.Unavailable,
}
