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
	f, err := openLock(dir)
	if err != nil {
		return nil, err
	}
	if err := hold(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// openLock opens the lock of the directory dir.
func openLock(dir string) (*os.File, error) {
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
	return f, nil
}

// hold locks f. If another process has removed f (adoptFrom), it returns NotExist.
func hold(f *os.File) error {
	const op = "stagefs.New"
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return pfs.Errorf(op, "", pfs.Exist, "%s is used by another process (%w)", filepath.Dir(f.Name()), err)
	}
	now, err := os.Stat(f.Name())
	if err != nil {
		return pfs.E(op, "", pfs.KindOf(err), err)
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(now, info) {
		return pfs.E(op, "", pfs.NotExist, err)
	}
	return nil
}

// diskSpace returns the size of the disk of f, and its free space, in bytes.
func diskSpace(f *os.File) (total, free int64, err error) {
	var s syscall.Statfs_t
	err = syscall.Fstatfs(int(f.Fd()), &s)
	return int64(s.Blocks) * s.Bsize, int64(s.Bavail) * s.Bsize, err
}
