//go:build unix

package stage

import (
	"errors"
	"os"
	"syscall"
)

// errLocked says that another process has the lock.
var errLocked = errors.New("locked")

// flock locks an open file until it is closed, or changes its lock.
func flock(f *os.File, exclusively bool) error {
	how := syscall.LOCK_SH
	if exclusively {
		how = syscall.LOCK_EX
	}
	for {
		switch err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); err {
		case syscall.EINTR:
		case syscall.EWOULDBLOCK:
			return errLocked
		default:
			return err
		}
	}
}
