package cachefs

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fileID distinguishes a file from every other file that has or had its name.
type fileID struct {
	inode uint64
	born  int64 // ns; 0 if the file system does not keep it
}

// diskFile is the description of an open file.
type diskFile struct {
	id    fileID
	links uint32
	size  int64

	modified time.Time
}

// describe returns the description of f.
func describe(f *os.File) (diskFile, error) {
	var x unix.Statx_t
	err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &x)
	return diskFile{
		id:    fileID{x.Ino, x.Btime.Sec*1e9 + int64(x.Btime.Nsec)},
		links: x.Nlink, size: int64(x.Size), modified: time.Unix(x.Mtime.Sec, int64(x.Mtime.Nsec)),
	}, err
}

// lock locks f, shared or exclusive. An exclusive lock that others prevent is an error at once.
func lock(f *os.File, exclusive bool) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX | unix.LOCK_NB
	}
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}

// getXattr reads an extended attribute. It returns 0 if f has none of that name.
func getXattr(f *os.File, name string, p []byte) (n int, err error) {
	n, err = unix.Fgetxattr(int(f.Fd()), name, p)
	if err == unix.ENODATA || err == unix.ERANGE { // none, or a longer one, which is not ours
		return 0, nil
	}
	return max(0, n), err
}

func setXattr(f *os.File, name string, p []byte) error {
	return unix.Fsetxattr(int(f.Fd()), name, p, 0)
}

func removeAttr(f *os.File) error {
	if err := unix.Fremovexattr(int(f.Fd()), attrName); err != unix.ENODATA {
		return err
	}
	return nil
}

// writeDirect writes past the page cache, where the file system can do that.
func writeDirect(f *os.File, p []byte, off int64) error {
	direct, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_WRONLY|unix.O_DIRECT, 0)
	if err != nil {
		return err
	}
	defer direct.Close()
	_, err = direct.WriteAt(p, off)
	return err
}

// readUncached reads without keeping the bytes in the page cache. It returns false if the system cannot do that; Linux can
// since 6.14 on most file systems.
func readUncached(f *os.File, p []byte, off int64) (bool, error) {
	for len(p) > 0 {
		n, err := unix.Preadv2(int(f.Fd()), [][]byte{p}, off, unix.RWF_DONTCACHE)
		switch {
		case err == unix.EINTR:
			continue
		case err == nil && n == 0:
			return true, io.ErrUnexpectedEOF
		case err != nil:
			return err != unix.EOPNOTSUPP && err != unix.EINVAL, err
		}
		p, off = p[n:], off+int64(n)
	}
	return true, nil
}

// dropPages takes the pages of f from the page cache.
func dropPages(f *os.File) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }

// blocksOf returns the bytes that a file takes on the disk.
func blocksOf(info os.FileInfo) int64 { return info.Sys().(*syscall.Stat_t).Blocks * 512 }

// ownerOf returns the user that info's file belongs to.
func ownerOf(info os.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// diskSpace returns the size of the disk of dir, and its free space, in bytes.
func diskSpace(dir string) (total, free int64, err error) {
	var s unix.Statfs_t
	err = unix.Statfs(dir, &s)
	return int64(s.Blocks) * s.Bsize, int64(s.Bavail) * s.Bsize, err
}
