package localfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncsWholeDisk tells whether dirs can syncAll.
const syncsWholeDisk = true

// allocate reserves room for the first size bytes of f, which has some of it already,
// without changing its length. A file system that cannot is no error.
//
// What cannot fit is refused before: some file systems would first give away all that
// they have, and others would find the disk full meanwhile.
func allocate(f *os.File, size, has int64) error {
	err := withFD(f, func(fd int) error {
		space, err := spaceOn(fd)
		if err == nil && space.Total > 0 && size-has > space.Free {
			return unix.ENOSPC
		}
		return uninterrupted(func() error { return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, size) })
	})
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		return nil
	}
	return err
}

// startWriteback sends n bytes of f on their way to the disk and does not wait. It
// only makes the next sync shorter, which will also tell what went wrong.
func startWriteback(f *os.File, off, n int64) {
	_ = withFD(f, func(fd int) error {
		return unix.SyncFileRange(fd, off, n, unix.SYNC_FILE_RANGE_WRITE)
	})
}

// shareBlocks makes dst, which is empty, a copy of src that shares its blocks, and
// reports whether the file system can do that.
func shareBlocks(dst, src *os.File) bool {
	return withFD(dst, func(to int) error {
		return withFD(src, func(from int) error { return unix.IoctlFileClone(to, from) })
	}) == nil
}

// copyRange copies up to n bytes inside the kernel. It answers
// errors.ErrUnsupported or another error where it cannot.
func copyRange(dst, src *os.File, off int64, n int) (copied int, err error) {
	err = withFD(dst, func(to int) error {
		return withFD(src, func(from int) (err error) {
			in, out := off, off
			copied, err = unix.CopyFileRange(from, &in, to, &out, n, 0)
			return err
		})
	})
	return copied, err
}
