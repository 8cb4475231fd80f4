//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package localfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the lock of f, shared or exclusive, for the open file that f is,
// in place of the one it has; it waits for it. A file system without locks is not
// an error: the lock only keeps two handles of one staged write apart.
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
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = c.Control(func(fd uintptr) {
		failed = unix.EINTR
		for failed == unix.EINTR {
			failed = unix.Flock(int(fd), how)
		}
	})
	if err != nil {
		return err
	}
	switch failed {
	case unix.ENOSYS, unix.EOPNOTSUPP, unix.ENOLCK:
		return nil
	}
	return failed
}
