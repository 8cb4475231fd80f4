//go:build !linux

package localfs

import (
	"errors"
	"os"
	"time"
)

// syncsWholeDisk reports whether dirs implement syncAll.
const syncsWholeDisk = false

// makeHole turns n bytes of f at off into a hole. It is not supported.
func makeHole(f *os.File, off, n int64) error { return errors.ErrUnsupported }

// nextData returns the first range of f between off and end that is not a hole: all of it.
func nextData(f *os.File, off, end int64) (from, to int64) { return off, end }

// isHole reports whether n bytes of f at off are known to be one hole.
func isHole(f *os.File, off, n int64) bool { return false }

// reserve allocates n bytes of f at off. It is not supported.
func reserve(f *os.File, off, n int64) error { return errors.ErrUnsupported }

// setsOpenTimes reports whether setTimes is supported.
const setsOpenTimes = false

// setTimes sets the times of f. The system does so only by name.
func setTimes(f *os.File, atime, mtime time.Time) error { return errors.ErrUnsupported }

// startWriteback starts to write n bytes of f to the disk. The system decides when.
func startWriteback(*os.File, int64, int64) {}

// shareBlocks reports whether dst became a copy of src that shares its blocks.
func shareBlocks(dst, src *os.File) bool { return false }

// copyRange copies up to n bytes inside the kernel. It is not supported.
func copyRange(dst, src *os.File, off int64, n int) (int, error) { return 0, errors.ErrUnsupported }

// openTop opens the directory at path.
func openTop(path string, follow bool) (dir, error) { return openRoot(path, follow) }

// statFile describes an open file.
func statFile(f *os.File) (stat, error) {
	info, err := f.Stat()
	if err != nil {
		return stat{}, err
	}
	return statOf(info), nil
}
