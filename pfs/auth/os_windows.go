package auth

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock tries to take the exclusive lock of f, which is released when f is closed. It reports
// whether it succeeded.
func tryLock(f *os.File) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	switch err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped)); err {
	case nil:
		return true, nil
	case windows.ERROR_LOCK_VIOLATION, windows.ERROR_IO_PENDING:
		return false, nil
	default:
		return false, &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
}

// syncDir does nothing: Windows makes directory entries durable itself.
func syncDir(string) error { return nil }

// openToAll returns false: on Windows the access list of the directory protects the file, not its
// mode.
func openToAll(fs.FileInfo) bool { return false }

// writableByAll returns false for the same reason.
func writableByAll(fs.FileInfo) bool { return false }

// giveToOwner does nothing: files inherit from their directory.
func giveToOwner(*os.File, string) error { return nil }
