package stagefs

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
)

const lockName = "lock"

// lockDir locks the directory dir until the file that it returns is closed.
func lockDir(dir string) (*os.File, error) {
	const op = "stagefs.New"
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, pfs.E(op, "", pfs.KindOf(err), err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || !ok || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return nil, pfs.Errorf(op, "", pfs.Permission, "%s is not a directory of this user alone: remove it, or choose another cache directory", dir)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, pfs.E(op, "", pfs.KindOf(err), err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, pfs.Errorf(op, "", pfs.Exist, "%s is used by another process (%w)", dir, err)
	}
	return f, nil
}

// diskSpace returns the size of the disk of f, and what is free on it, in bytes.
func diskSpace(f *os.File) (total, free int64, err error) {
	var s syscall.Statfs_t
	err = syscall.Fstatfs(int(f.Fd()), &s)
	return int64(s.Blocks) * s.Bsize, int64(s.Bavail) * s.Bsize, err
}
