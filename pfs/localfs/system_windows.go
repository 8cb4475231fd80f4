package localfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

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

// unfitName returns why the system cannot hold a file of exactly this name; "" if it can. It
// refuses what Windows would take for a separator, a stream or a device, or would silently cut off.
func unfitName(name pfs.Path) string {
	for e := range name.Names() {
		if strings.ContainsAny(e, `\:*?"<>|`) || strings.TrimRight(e, " .") != e || !filepath.IsLocal(e) {
			return fmt.Sprintf("Windows cannot have a file named %q", e)
		}
	}
	return ""
}

// lockAt is the offset of the lock. It is beyond any byte of the file, because locks on Windows
// keep others from reading and writing the bytes that they cover.
var lockAt = windows.Overlapped{OffsetHigh: 1 << 30}

// lockFile waits for the lock of f, shared or exclusive, which replaces the one it has.
func lockFile(f *os.File, exclusive bool) error {
	var how uint32
	if exclusive {
		how = windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	at := lockAt
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &at)
}

// unlockFile gives the lock back.
func unlockFile(f *os.File) error {
	at := lockAt
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)
}

// fill adds fields that package os omits: on this system, none.
func (s *stat) fill(any) {}

// fileAttributes are the extended attributes of a system that has none.
type fileAttributes struct{}

var _ attributes = fileAttributes{}

func (fileAttributes) get(*os.File, string, []byte) (int, error) { return 0, errors.ErrUnsupported }
func (fileAttributes) set(*os.File, string, []byte, pfs.XattrFlags) error {
	return errors.ErrUnsupported
}
func (fileAttributes) list(*os.File) ([]string, error) { return nil, errors.ErrUnsupported }
func (fileAttributes) remove(*os.File, string) error   { return errors.ErrUnsupported }
