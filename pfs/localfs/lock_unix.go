//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package localfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile waits for the lock of the open file f, shared or exclusive, which replaces the one it
// has. A file system without locks is not an error: the lock only keeps two handles of one upload
// apart.
func lockFile(f *os.File, exclusive bool) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	return flock(f, how)
}

// unlockFile gives the lock back.
func unlockFile(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	err := withFD(f, func(fd int) error {
		return uninterrupted(func() error { return unix.Flock(fd, how) })
	})
	switch err {
	case unix.ENOSYS, unix.EOPNOTSUPP, unix.ENOLCK:
		return nil
	}
	return err
}
