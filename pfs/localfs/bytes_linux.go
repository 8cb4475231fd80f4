package localfs

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// syncsWholeDisk reports whether dirs implement syncAll.
const syncsWholeDisk = true

// makeHole turns n bytes of f at off into a hole, and extends f if it ends before them. After an
// error the bytes are unchanged or zeros.
func makeHole(f *os.File, off, n int64) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return withFD(f, func(fd int) error {
		if end := off + n; st.Size() < end {
			// Unlike truncate, this cannot shorten a file that another writer extends.
			if err := uninterrupted(func() error { return unix.Fallocate(fd, 0, end-1, 1) }); err != nil {
				return err
			}
		}
		return uninterrupted(func() error {
			return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
		})
	})
}

// nextData returns the first range of f between off and end that is not a hole; from == end if
// there is none. On a file system without holes everything is data.
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

// isHole reports whether the n bytes of f at off are one hole. None of them may be beyond the end
// of f.
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

// reserve allocates n bytes of f at off, and extends f if it ends before them.
func reserve(f *os.File, off, n int64) error {
	return withFD(f, func(fd int) error {
		return uninterrupted(func() error { return unix.Fallocate(fd, 0, off, n) })
	})
}

// setsOpenTimes reports whether setTimes is supported.
const setsOpenTimes = true

// setTimes sets the times of f; the zero time keeps either. The system call takes an open file by
// its name in /proc.
func setTimes(f *os.File, atime, mtime time.Time) error {
	times, err := timespecs(atime, mtime)
	if err != nil {
		return err
	}
	return withFD(f, func(fd int) error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), times, 0)
	})
}

// startWriteback starts to write n bytes of f to the disk and does not wait. It only makes the next
// sync shorter; that sync also reports the errors.
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

// copyRange copies up to n bytes inside the kernel. It returns errors.ErrUnsupported or another
// error where it cannot.
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
