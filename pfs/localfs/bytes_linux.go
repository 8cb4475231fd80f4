package localfs

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// syncsWholeDisk tells whether dirs can syncAll.
const syncsWholeDisk = true

// makeHole turns n bytes of f at off into zeros that take no room, and makes f longer if it ends before
// them. After an error the bytes are as before, or zeros.
func makeHole(f *os.File, off, n int64) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return withFD(f, func(fd int) error {
		if end := off + n; st.Size() < end {
			// Unlike truncate this cannot shorten a file that another writer makes longer.
			if err := uninterrupted(func() error { return unix.Fallocate(fd, 0, end-1, 1) }); err != nil {
				return err
			}
		}
		return uninterrupted(func() error {
			return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
		})
	})
}

// nextData returns the first stretch of f between off and end that is no hole, from == end
// if there is none. Where the file system knows no holes all is data.
func nextData(f *os.File, off, end int64) (from, to int64) {
	from, to = off, end
	_ = withFD(f, func(fd int) error {
		at, err := unix.Seek(fd, off, unix.SEEK_DATA)
		switch {
		case err == unix.ENXIO: // a hole up to the end of the file
			from = end
			return nil
		case err != nil:
			return err
		}
		from = min(at, end)
		if at, err = unix.Seek(fd, from, unix.SEEK_HOLE); err == nil {
			to = min(at, end)
		}
		return err
	})
	return from, max(from, to)
}

// isHole reports whether the n bytes of f at off, none of them behind its end, are one hole.
func isHole(f *os.File, off, n int64) (hole bool) {
	_ = withFD(f, func(fd int) error {
		next, err := unix.Seek(fd, off, unix.SEEK_DATA)
		if err == unix.ENXIO { // no data follows
			next, err = unix.Seek(fd, 0, unix.SEEK_END)
		}
		hole = err == nil && next >= off+n
		return err
	})
	return hole
}

// reserve takes room for n bytes of f at off, and makes f longer if it ends before them.
func reserve(f *os.File, off, n int64) error {
	return withFD(f, func(fd int) error {
		return uninterrupted(func() error { return unix.Fallocate(fd, 0, off, n) })
	})
}

// setsOpenTimes tells whether setTimes can do it.
const setsOpenTimes = true

// setTimes sets the times of f, of which the zero time keeps one. The system call takes an
// open file by its name in /proc.
func setTimes(f *os.File, atime, mtime time.Time) error {
	times, err := timespecs(atime, mtime)
	if err != nil {
		return err
	}
	return withFD(f, func(fd int) error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), times, 0)
	})
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
