//go:build unix

package localfs

import (
	"os"
	"syscall"
)

// nonBlocking keeps an open of a FIFO from waiting for its peer.
const nonBlocking = syscall.O_NONBLOCK | syscall.O_NOCTTY

// uninterrupted repeats a system call that a signal interrupts, as some file systems allow.
func uninterrupted(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}

// retried is uninterrupted for a call that returns a value.
func retried[T any](call func() (T, error)) (v T, err error) {
	err = uninterrupted(func() (err error) {
		v, err = call()
		return err
	})
	return v, err
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
