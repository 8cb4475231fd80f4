package localfs

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/sys/unix"
)

// canConfine says that this system can refuse links on the way.
const canConfine = true

// dir is an open directory. All else happens relative to it, on names of one element.
type dir struct {
	fd     int
	follow bool
}

// openDir opens the directory name.
func (s *FS) openDir(op string, name pfs.Path) (*dir, error) {
	fd, err := s.resolve(name)
	if err == unix.ELOOP && !s.opts.FollowLinks {
		return nil, s.linkIn(op, name)
	}
	if err == unix.ENOTDIR {
		return nil, s.fileIn(op, name)
	}
	if err != nil {
		return nil, fail(op, name, err)
	}
	return &dir{fd: fd, follow: s.opts.FollowLinks}, nil
}

const openPath = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC

// resolve opens the directory name below the root.
func (s *FS) resolve(name pfs.Path) (int, error) {
	rel := strings.TrimPrefix(string(name), "/")
	if rel == "" {
		rel = "."
	}
	root := int(s.root.Fd())
	if s.opts.FollowLinks {
		return retry(func() (int, error) { return unix.Openat(root, rel, openPath, 0) })
	}
	how := unix.OpenHow{Flags: openPath, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := retry(func() (int, error) { return unix.Openat2(root, rel, &how) })
	if err == unix.ENOSYS || err == unix.EPERM {
		return stepwise(root, rel) // an old kernel, or a sandbox that does not know the call
	}
	return fd, err
}

// stepwise does openat2's work element by element.
func stepwise(root int, rel string) (int, error) {
	at, err := unix.Openat(root, ".", openPath, 0)
	if err != nil || rel == "." {
		return at, err
	}
	for name := range strings.SplitSeq(rel, "/") {
		next, err := unix.Openat(at, name, openPath|unix.O_NOFOLLOW, 0)
		if err == unix.ENOTDIR {
			var st unix.Stat_t
			if unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
				err = unix.ELOOP
			}
		}
		unix.Close(at)
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

// linkIn answers Symlink with the path of the first link on the way to name.
func (s *FS) linkIn(op string, name pfs.Path) error {
	if at, ok := s.first(name, pfs.Info.IsLink); ok {
		return pfs.E(op, at, pfs.Symlink, nil)
	}
	return pfs.Errorf(op, name, pfs.Conflict, "the way to it changes while it is used")
}

// fileIn answers NotDir with the path of what is no directory on the way to name.
func (s *FS) fileIn(op string, name pfs.Path) error {
	if at, ok := s.first(name, func(i pfs.Info) bool { return !i.IsDir() }); ok {
		return pfs.E(op, at, pfs.NotDir, nil)
	}
	return pfs.E(op, name, pfs.NotDir, nil)
}

// first returns the first path on the way to name that is what is says.
func (s *FS) first(name pfs.Path, is func(pfs.Info) bool) (pfs.Path, bool) {
	at := pfs.Root
	for element := range name.Names() {
		fd, err := s.resolve(at)
		if err != nil {
			break
		}
		d := &dir{fd: fd}
		st, err := d.stat(element)
		d.Close()
		at = at.Join(element)
		if err != nil {
			break
		}
		if is(st.info) {
			return at, true
		}
	}
	return "", false
}

// retry calls f until it is not interrupted.
func retry[T any](f func() (T, error)) (T, error) {
	for {
		v, err := f()
		if err != unix.EINTR && err != unix.EAGAIN {
			return v, err
		}
	}
}

// Close closes the directory.
func (d *dir) Close() error { return unix.Close(d.fd) }

// statted is what the operating system tells of a file.
type statted struct {
	info  pfs.Info
	inode uint64
	dev   uint64
}

func (d *dir) stat(name string) (statted, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return statted{}, err
	}
	out := newStatted(name, &st)
	if out.info.IsLink() {
		target, err := d.readlink(name, st.Size)
		if err != nil {
			return statted{}, err
		}
		out.info.Target, out.info.Size = target, int64(len(target))
	}
	return out, nil
}

func (d *dir) statSelf() (statted, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, "", &st, unix.AT_EMPTY_PATH); err != nil {
		return statted{}, err
	}
	return newStatted(".", &st), nil
}

func statFile(f *os.File, name string) (statted, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return statted{}, err
	}
	return newStatted(name, &st), nil
}

func newStatted(name string, st *unix.Stat_t) statted {
	info := pfs.Info{
		Name: name, Size: st.Size, Mode: fileMode(st.Mode), ModTime: time.Unix(st.Mtim.Unix()),
		Owner: ownerName(st.Uid), Group: groupName(st.Gid),
	}
	if info.IsDir() {
		info.Size = 0
	}
	if info.IsRegular() {
		v := make([]byte, 0, 64)
		for _, n := range []int64{int64(st.Ino), st.Size, st.Mtim.Nano(), st.Ctim.Nano()} {
			v = strconv.AppendInt(append(v, '.'), n, 36)
		}
		info.Version = string(v[1:])
	}
	return statted{info: info, inode: st.Ino, dev: st.Dev}
}

// fileMode is st_mode as package fs writes it.
func fileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	case unix.S_IFIFO:
		m |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		m |= fs.ModeSocket
	case unix.S_IFBLK:
		m |= fs.ModeDevice
	case unix.S_IFCHR:
		m |= fs.ModeDevice | fs.ModeCharDevice
	}
	if mode&unix.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if mode&unix.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if mode&unix.S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	return m
}

func (d *dir) readlink(name string, size int64) (string, error) {
	for n := size + 1; ; n *= 2 {
		b := make([]byte, max(n, 256))
		k, err := unix.Readlinkat(d.fd, name, b)
		if err != nil {
			return "", err
		}
		if k < len(b) {
			return string(b[:k]), nil
		}
	}
}

// open opens a file. It never waits: a pipe without a writer is opened at once.
func (d *dir) open(name string, flags int, perm fs.FileMode) (*os.File, error) {
	flags |= unix.O_CLOEXEC | unix.O_NONBLOCK
	if !d.follow || flags&unix.O_CREAT != 0 {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, flags, uint32(perm.Perm())) })
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// sub opens a directory in d.
func (d *dir) sub(name string) (*dir, error) {
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, openPath|unix.O_NOFOLLOW, 0) })
	return &dir{fd: fd}, err
}

func (d *dir) mkdir(name string, perm fs.FileMode) error {
	if err := unix.Mkdirat(d.fd, name, uint32(perm.Perm())); err != nil {
		return err
	}
	return d.chmod(name, perm) // past the umask
}

func (d *dir) unlink(name string) error { return unix.Unlinkat(d.fd, name, 0) }
func (d *dir) rmdir(name string) error  { return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR) }

func (d *dir) symlink(target, name string) error { return unix.Symlinkat(target, d.fd, name) }

// rename moves name to the name to of dst, replacing a file there.
func (d *dir) rename(name string, dst *dir, to string) error {
	return unix.Renameat(d.fd, name, dst.fd, to)
}

// renameExclusive moves without replacing. File systems that cannot do it at once do
// it by a second link, which works for files.
func (d *dir) renameExclusive(name string, dst *dir, to string) error {
	err := unix.Renameat2(d.fd, name, dst.fd, to, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	if err := unix.Linkat(d.fd, name, dst.fd, to, 0); err != nil {
		return err
	}
	return d.unlink(name)
}

// byProc is the path of a file that is reached without following it.
func (d *dir) byProc(name string, f func(path string) error) error {
	fd, err := retry(func() (int, error) {
		return unix.Openat(d.fd, name, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f("/proc/self/fd/" + strconv.Itoa(fd))
}

func (d *dir) chmod(name string, perm fs.FileMode) error {
	return d.byProc(name, func(path string) error { return unix.Chmod(path, uint32(perm.Perm())) })
}

func (d *dir) chtime(name string, mtime time.Time) error {
	t, err := unix.TimeToTimespec(mtime)
	if err != nil {
		return err
	}
	return unix.UtimesNanoAt(d.fd, name, []unix.Timespec{{Nsec: unix.UTIME_OMIT}, t}, unix.AT_SYMLINK_NOFOLLOW)
}

// setTime sets the modification time of an open file.
func setTime(f *os.File, mtime time.Time) error {
	t, err := unix.TimeToTimespec(mtime)
	if err != nil {
		return err
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(f.Fd())), []unix.Timespec{{Nsec: unix.UTIME_OMIT}, t}, 0)
}

// sync makes the names in d durable.
func (d *dir) sync() error {
	f, err := d.reopen()
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// syncDisk makes everything on the disk of d durable, in one go.
func (d *dir) syncDisk() error {
	f, err := d.reopen()
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}

// reopen opens d for reading its entries; what openDir opens is only a place.
func (d *dir) reopen() (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(d.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "."), nil
}

func (d *dir) space() (pfs.Space, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(d.fd, &st); err != nil {
		return pfs.Space{}, err
	}
	return pfs.Space{Total: int64(st.Blocks) * st.Bsize, Free: int64(st.Bavail) * st.Bsize}, nil
}

// preallocate reserves size bytes for f without changing its length, where the file
// system can.
func preallocate(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINTR) {
		return nil
	}
	return err
}

// startWriting begins to write n bytes from off to the disk, so that the sync at the
// end has little left to do. It is advice: errors show at the sync.
func startWriting(f *os.File, off, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE)
}

func getxattr(f *os.File, buf []byte) (int, error) {
	return unix.Fgetxattr(int(f.Fd()), markName, buf)
}

func setxattr(f *os.File, value []byte) error {
	return unix.Fsetxattr(int(f.Fd()), markName, value, 0)
}

func removexattr(f *os.File) error { return unix.Fremovexattr(int(f.Fd()), markName) }

// getxattrAt and setxattrAt reach a file without opening it for reading.
func (d *dir) getxattrAt(name string, buf []byte) (n int, err error) {
	err = d.byProc(name, func(path string) error {
		n, err = unix.Getxattr(path, markName, buf)
		return err
	})
	return n, err
}

func (d *dir) setxattrAt(name string, value []byte) error {
	return d.byProc(name, func(path string) error { return unix.Setxattr(path, markName, value, 0) })
}
