//go:build unix

package auth

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryLock tries to take the exclusive lock of f, which is released when f is closed. It reports
// whether it succeeded.
func tryLock(f *os.File) (bool, error) {
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
	case nil:
		return true, nil
	case unix.EWOULDBLOCK, unix.EINTR:
		return false, nil
	default:
		return false, &fs.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
}

// syncDir makes the entries of dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// openToAll reports whether everybody on the machine may read or write the file. Access by the
// group is fine: cluster volumes are often shared through it.
func openToAll(info fs.FileInfo) bool { return info.Mode().Perm()&0o007 != 0 }

// writableByAll reports whether everybody on the machine may change the directory.
func writableByAll(info fs.FileInfo) bool { return info.Mode().Perm()&0o002 != 0 }

// giveToOwner gives f to the owner of dir if root made it, so that commands run by root do not lock
// out a service with another user.
func giveToOwner(f *os.File, dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}
