//go:build linux || darwin

package localfs

import (
	"os"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/sys/unix"
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

// unfitName returns why the system cannot hold a file of exactly this name; "" if it can.
func unfitName(pfs.Path) string { return "" }

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

// spaceOf describes the file system that holds path.
func spaceOf(path string) (pfs.Space, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return pfs.Space{}, err
	}
	unit := int64(st.Bsize)
	return pfs.Space{Total: int64(st.Blocks) * unit, Used: int64(st.Blocks-st.Bfree) * unit, Free: int64(st.Bavail) * unit}, nil
}
