//go:build unix

package output

import (
	"os"
	"syscall"
)

// lock locks an open file until it is closed. It reports false if another one has the lock.
func lock(f *os.File) (bool, error) {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
		case syscall.EINTR:
		case syscall.EWOULDBLOCK:
			return false, nil
		default:
			return err == nil, err
		}
	}
}
