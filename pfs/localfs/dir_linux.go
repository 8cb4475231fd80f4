package localfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/internal/unixmode"
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

// fdDir is a directory by its O_PATH descriptor, which needs no right to read the directory.
type fdDir struct {
	fd       int
	follow   bool
	elements bool // do not use openat2
}

var _ dir = (*fdDir)(nil)

func openat(at int, name string, flags int, perm uint32) (fd int, err error) {
	return retried(func() (int, error) { return unix.Openat(at, name, flags|unix.O_CLOEXEC, perm) })
}

func (d *fdDir) Close() error { return unix.Close(d.fd) }

// child returns the directory fd, opened in the way of d.
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
	case unix.ELOOP, // walk finds out which element is the link
		unix.ENOSYS, unix.EPERM, // no such call, or a filter against it
		unix.EAGAIN, unix.EINTR:
		return d.walk(rel)
	}
	return d.opened(fd, err)
}

// opened makes a dir of the result of an open.
func (d *fdDir) opened(fd int, err error) (dir, error) {
	if err != nil {
		return nil, err
	}
	return d.child(fd), nil
}

// walk opens rel one element at a time. None of them may be a link.
func (d *fdDir) walk(rel string) (dir, error) {
	cur := d
	for name, way := range elements(rel) {
		fd, err := openat(cur.fd, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err == unix.ENOTDIR || err == unix.ELOOP {
			if st, e := cur.stat(name, false); e == nil && st.mode&fs.ModeSymlink != 0 {
				err = linkAt(way)
			}
		}
		if cur != d {
			cur.Close()
		}
		if err != nil {
			return nil, err
		}
		cur = d.child(fd)
	}
	return cur, nil
}

func (d *fdDir) stat(name string, follow bool) (stat, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if follow {
		flags = 0
	}
	return statAt(d.fd, name, flags)
}

func (d *fdDir) readlink(name string) (string, error) {
	for n := 256; ; n *= 2 {
		p := make([]byte, n)
		k, err := retried(func() (int, error) { return unix.Readlinkat(d.fd, name, p) })
		if err != nil {
			return "", err
		}
		if k < n {
			return string(p[:k]), nil
		}
	}
}

func (d *fdDir) openFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	fd, err := d.openFD(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// readFile avoids the system calls with which an os.File asks for a poller.
func (d *fdDir) readFile(name string, p []byte) (n int, err error) {
	fd, err := d.openFD(name, unix.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	for n < len(p) {
		k, err := retried(func() (int, error) { return unix.Read(fd, p[n:]) })
		if err != nil || k == 0 {
			return n, err
		}
		n += k
	}
	return n, nil
}

func (d *fdDir) openFD(name string, flag int, perm fs.FileMode) (int, error) {
	flag |= unix.O_NOCTTY
	if !d.follow || flag&unix.O_EXCL != 0 {
		flag |= unix.O_NOFOLLOW
	}
	if flag&unix.O_CREAT == 0 {
		flag |= unix.O_NONBLOCK
	}
	return openat(d.fd, name, flag, uint32(perm.Perm()))
}

// attribute needs no descriptor of the file where there is a /proc.
func (d *fdDir) attribute(name, attribute string, p []byte) (n int, err error) {
	at := "/proc/self/fd/" + strconv.Itoa(d.fd) + "/" + name
	n, err = retried(func() (int, error) { return unix.Lgetxattr(at, attribute, p) })
	if err == nil || err == unix.ENODATA || err == unix.ENOTSUP || err == unix.EACCES {
		return n, err
	}
	return openedAttribute(d, name, attribute, p)
}

func (d *fdDir) mkdir(name string, perm fs.FileMode) error {
	return uninterrupted(func() error { return unix.Mkdirat(d.fd, name, uint32(perm.Perm())) })
}

func (d *fdDir) unlink(name string) error {
	return uninterrupted(func() error { return unix.Unlinkat(d.fd, name, 0) })
}

func (d *fdDir) rmdir(name string) error {
	return uninterrupted(func() error { return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR) })
}

func (d *fdDir) symlink(target, name string) error {
	return uninterrupted(func() error { return unix.Symlinkat(target, d.fd, name) })
}

func (d *fdDir) link(name string, to dir, newName string) error {
	return uninterrupted(func() error { return unix.Linkat(d.fd, name, to.(*fdDir).fd, newName, 0) })
}

func (d *fdDir) rename(name string, to dir, newName string, exclusive bool) error {
	fd := to.(*fdDir).fd
	if !exclusive {
		return uninterrupted(func() error { return unix.Renameat(d.fd, name, fd, newName) })
	}
	err := uninterrupted(func() error { return unix.Renameat2(d.fd, name, fd, newName, unix.RENAME_NOREPLACE) })
	if err == unix.EINVAL || err == unix.ENOSYS || err == unix.EOPNOTSUPP {
		return renameExclusively(d, name, to, newName)
	}
	return err
}

func (d *fdDir) access(name string, change bool) error {
	mode, flags := uint32(unix.R_OK), unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW
	if change {
		mode = unix.W_OK | unix.X_OK
	}
	if d.follow {
		flags = unix.AT_EACCESS
	}
	return uninterrupted(func() error { return unix.Faccessat(d.fd, name, mode, flags) })
}

// chmod needs fchmodat2 (Linux 6.6) to leave a link alone. Older systems use an O_PATH descriptor
// and its name in /proc.
func (d *fdDir) chmod(name string, mode fs.FileMode) error {
	bits := unixmode.Permissions(mode)
	err := uninterrupted(func() error { return unix.Fchmodat(d.fd, name, bits, d.followFlags(false)) })
	if d.follow || err != unix.EOPNOTSUPP && err != unix.ENOSYS && err != unix.EINVAL {
		return err
	}
	fd, err := openat(d.fd, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := uninterrupted(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return unix.ELOOP
	}
	return uninterrupted(func() error { return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), bits) })
}

// followFlags returns the flags of a call that follows links unless link is set.
func (d *fdDir) followFlags(link bool) int {
	if d.follow && !link {
		return 0
	}
	return unix.AT_SYMLINK_NOFOLLOW
}

func (d *fdDir) chown(name string, uid, gid int, link bool) error {
	return uninterrupted(func() error { return unix.Fchownat(d.fd, name, uid, gid, d.followFlags(link)) })
}

func (d *fdDir) chtimes(name string, atime, mtime time.Time, link bool) error {
	times, err := timespecs(atime, mtime)
	if err != nil {
		return err
	}
	return uninterrupted(func() error { return unix.UtimesNanoAt(d.fd, name, times, d.followFlags(link)) })
}

// timespecs returns the times for utimensat, which omits the zero time.
func timespecs(times ...time.Time) ([]unix.Timespec, error) {
	specs := make([]unix.Timespec, len(times))
	for i, t := range times {
		if t.IsZero() {
			specs[i].Nsec = unix.UTIME_OMIT
			continue
		}
		at, err := unix.TimeToTimespec(t)
		if err != nil {
			return nil, err
		}
		specs[i] = at
	}
	return specs, nil
}

func (d *fdDir) mknod(name string, mode fs.FileMode, device uint64) error {
	return uninterrupted(func() error { return unix.Mknodat(d.fd, name, unixmode.Bits(mode), int(device)) })
}

// read opens the directory for reading.
func (d *fdDir) read() (int, error) {
	return openat(d.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// sync ignores two cases: a directory without read permission cannot be opened for it, and some
// file systems do not know the call.
func (d *fdDir) sync() error {
	fd, err := d.read()
	if err == unix.EACCES {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	err = uninterrupted(func() error { return unix.Fsync(fd) })
	if err == unix.EINVAL {
		return nil
	}
	return err
}

func (d *fdDir) disk() (disk, error) {
	fd, err := d.read()
	if err == unix.EACCES {
		return nil, errors.ErrUnsupported
	}
	if err != nil {
		return nil, err
	}
	return fdDisk(fd), nil
}

// fdDisk is a disk by the descriptor of one of its directories. The kernel reports lost bytes once
// to each descriptor that was open at the time.
type fdDisk int

func (fd fdDisk) Close() error { return unix.Close(int(fd)) }

func (fd fdDisk) sync() error {
	return uninterrupted(func() error { return unix.Syncfs(int(fd)) })
}

func (d *fdDir) space() (pfs.Space, error) { return spaceOn(d.fd) }

// spaceOn describes the file system of the descriptor fd.
func spaceOn(fd int) (pfs.Space, error) {
	var st unix.Statfs_t
	if err := uninterrupted(func() error { return unix.Fstatfs(fd, &st) }); err != nil {
		return pfs.Space{}, err
	}
	unit := int64(st.Frsize)
	if unit == 0 {
		unit = int64(st.Bsize)
	}
	return pfs.Space{Total: int64(st.Blocks) * unit, Used: int64(st.Blocks-st.Bfree) * unit, Free: int64(st.Bavail) * unit}, nil
}

// fixed are the file systems without owners, modes, links and special files. allocating are those
// that can reserve space.
var (
	fixed      = []int64{unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC}
	allocating = []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC,
		unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC, unix.OVERLAYFS_SUPER_MAGIC}
)

func (d *fdDir) capabilities() (pfs.Capabilities, error) {
	var st unix.Statfs_t
	if err := uninterrupted(func() error { return unix.Fstatfs(d.fd, &st) }); err != nil {
		return 0, err
	}
	c := some
	if slices.Contains(fixed, int64(st.Type)) {
		c = 0
	}
	if !slices.Contains(allocating, int64(st.Type)) {
		c &^= pfs.CanAllocate
	}
	return c, nil
}
