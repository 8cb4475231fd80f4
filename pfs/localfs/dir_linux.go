package localfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/sys/unix"
)

// openTop opens the directory at path.
func openTop(path string, follow bool) (dir, error) {
	fd, err := openat(unix.AT_FDCWD, path, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return &fdDir{fd: fd, follow: follow}, nil
}

// fdDir is a directory by its descriptor, which is an O_PATH one: it needs no
// right to read the directory.
type fdDir struct {
	fd       int
	follow   bool
	elements bool // do not use openat2
}

var _ dir = (*fdDir)(nil)

// openat is the system call, again when a signal came between.
func openat(fd int, name string, flags int, perm uint32) (int, error) {
	for {
		fd, err := unix.Openat(fd, name, flags|unix.O_CLOEXEC, perm)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func (d *fdDir) Close() error { return unix.Close(d.fd) }

// child returns the directory fd with the ways of d.
func (d *fdDir) child(fd int) *fdDir {
	return &fdDir{fd: fd, follow: d.follow, elements: d.elements}
}

func (d *fdDir) open(rel string) (dir, error) {
	if rel == "" {
		rel = "."
	}
	if d.follow {
		return d.opened(openat(d.fd, rel, unix.O_PATH|unix.O_DIRECTORY, 0))
	}
	if d.elements {
		return d.walk(rel)
	}
	fd, err := unix.Openat2(d.fd, rel, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	switch err {
	case unix.ELOOP, // the walk finds out which element is the link
		unix.ENOSYS, unix.EPERM, // no such call, or a filter against it
		unix.EAGAIN, unix.EINTR:
		return d.walk(rel)
	}
	return d.opened(fd, err)
}

// opened makes a dir of what an open returned.
func (d *fdDir) opened(fd int, err error) (dir, error) {
	if err != nil {
		return nil, err
	}
	return d.child(fd), nil
}

// walk opens rel one element at a time, none of which may be a link.
func (d *fdDir) walk(rel string) (dir, error) {
	cur := d
	for i := 0; i <= len(rel); {
		n := strings.IndexByte(rel[i:], '/')
		if n < 0 {
			n = len(rel) - i
		}
		name := rel[i : i+n]
		fd, err := openat(cur.fd, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err == unix.ENOTDIR || err == unix.ELOOP {
			if st, e := cur.stat(name, false); e == nil && st.mode&fs.ModeSymlink != 0 {
				err = &linkError{rel: rel[:i+n]}
			}
		}
		if cur != d {
			cur.Close()
		}
		if err != nil {
			return nil, err
		}
		cur = d.child(fd)
		i += n + 1
	}
	return cur, nil
}

func (d *fdDir) stat(name string, follow bool) (stat, error) {
	var st unix.Stat_t
	flags := unix.AT_SYMLINK_NOFOLLOW
	if follow {
		flags = 0
	}
	if err := unix.Fstatat(d.fd, name, &st, flags); err != nil {
		return stat{}, err
	}
	return statOfUnix(&st), nil
}

func (d *fdDir) readlink(name string) (string, error) {
	for n := 256; ; n *= 2 {
		p := make([]byte, n)
		k, err := unix.Readlinkat(d.fd, name, p)
		if err != nil {
			return "", err
		}
		if k < n {
			return string(p[:k]), nil
		}
	}
}

func (d *fdDir) openFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	flag |= unix.O_NOCTTY
	if !d.follow || flag&unix.O_EXCL != 0 {
		flag |= unix.O_NOFOLLOW
	}
	if flag&unix.O_CREAT == 0 {
		flag |= unix.O_NONBLOCK
	}
	fd, err := openat(d.fd, name, flag, uint32(perm.Perm()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (d *fdDir) mkdir(name string, perm fs.FileMode) error {
	return unix.Mkdirat(d.fd, name, uint32(perm.Perm()))
}

func (d *fdDir) unlink(name string) error { return unix.Unlinkat(d.fd, name, 0) }

func (d *fdDir) rmdir(name string) error { return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR) }

func (d *fdDir) symlink(target, name string) error { return unix.Symlinkat(target, d.fd, name) }

func (d *fdDir) link(name string, to dir, newName string) error {
	return unix.Linkat(d.fd, name, to.(*fdDir).fd, newName, 0)
}

func (d *fdDir) rename(name string, to dir, newName string, exclusive bool) error {
	fd := to.(*fdDir).fd
	if !exclusive {
		return unix.Renameat(d.fd, name, fd, newName)
	}
	err := unix.Renameat2(d.fd, name, fd, newName, unix.RENAME_NOREPLACE)
	if err == unix.EINVAL || err == unix.ENOSYS || err == unix.EOPNOTSUPP {
		return renameExclusively(d, name, to, newName)
	}
	return err
}

// chmod needs fchmodat2 (Linux 6.6) to leave a link alone; before, an O_PATH
// descriptor and its name in /proc do the same.
func (d *fdDir) chmod(name string, mode fs.FileMode) error {
	bits := unixMode(mode)
	if d.follow {
		return unix.Fchmodat(d.fd, name, bits, 0)
	}
	err := unix.Fchmodat(d.fd, name, bits, unix.AT_SYMLINK_NOFOLLOW)
	if err != unix.EOPNOTSUPP && err != unix.ENOSYS && err != unix.EINVAL {
		return err
	}
	fd, err := openat(d.fd, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return unix.ELOOP
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), bits)
}

func (d *fdDir) chtime(name string, mtime time.Time) error {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if d.follow {
		flags = 0
	}
	at, err := unix.TimeToTimespec(mtime)
	if err != nil {
		return err
	}
	return unix.UtimesNanoAt(d.fd, name, []unix.Timespec{{Nsec: unix.UTIME_OMIT}, at}, flags)
}

// read opens the directory itself for reading.
func (d *fdDir) read() (int, error) {
	return openat(d.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// sync does what it can: a directory that may not be read cannot be opened for it,
// and some file systems do not know the call.
func (d *fdDir) sync() error {
	fd, err := d.read()
	if err == unix.EACCES {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Fsync(fd); err != nil && err != unix.EINVAL {
		return err
	}
	return nil
}

func (d *fdDir) syncAll() error {
	fd, err := d.read()
	if err == unix.EACCES {
		return errors.ErrUnsupported
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Syncfs(fd)
}

func (d *fdDir) space() (pfs.Space, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(d.fd, &st); err != nil {
		return pfs.Space{}, err
	}
	unit := int64(st.Frsize)
	if unit == 0 {
		unit = int64(st.Bsize)
	}
	return pfs.Space{Total: int64(st.Blocks) * unit, Free: int64(st.Bavail) * unit}, nil
}
