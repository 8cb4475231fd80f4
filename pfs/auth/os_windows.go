package auth

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes the exclusive lock of f, which ends with f. It reports whether it
// got it.
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

// syncDir does nothing: Windows keeps the names in a directory by itself.
func syncDir(string) error { return nil }

// openToAll cannot be told from the mode on Windows: the directory's access list
// is what protects the file.
func openToAll(fs.FileInfo) bool { return false }

// writableByAll cannot be told from the mode either.
func writableByAll(fs.FileInfo) bool { return false }

// giveToOwner does nothing: files inherit from their directory.
func giveToOwner(*os.File, string) error { return nil }
