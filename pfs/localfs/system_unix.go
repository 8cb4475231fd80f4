//go:build unix

package localfs

import (
	"os"
	"syscall"
)

// nonBlocking keeps an open of a fifo from waiting for its other end.
const nonBlocking = syscall.O_NONBLOCK | syscall.O_NOCTTY

// uninterrupted makes a system call again as long as a signal comes between, as some
// file systems let it.
func uninterrupted(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}

// withFD calls do with the descriptor of f, which stays open meanwhile.
func withFD(f *os.File, do func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := c.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil {
		return err
	}
	return failed
}
