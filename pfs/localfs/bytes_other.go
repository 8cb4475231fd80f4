//go:build !linux

package localfs

import (
	"errors"
	"os"
	"time"
)

// syncsWholeDisk tells whether dirs can syncAll.
const syncsWholeDisk = false

// makeHole turns n bytes of f at off into zeros that take no room: the system cannot.
func makeHole(f *os.File, off, n int64) error { return errors.ErrUnsupported }

// nextData returns the first stretch of f between off and end that is no hole: all of it.
func nextData(f *os.File, off, end int64) (from, to int64) { return off, end }

// isHole reports whether n bytes of f at off are known to be one hole.
func isHole(f *os.File, off, n int64) bool { return false }

// reserve takes room for n bytes of f at off: the system cannot.
func reserve(f *os.File, off, n int64) error { return errors.ErrUnsupported }

// setsOpenTimes tells whether setTimes can do it.
const setsOpenTimes = false

// setTimes sets the times of f: the system does so by names only.
func setTimes(f *os.File, atime, mtime time.Time) error { return errors.ErrUnsupported }

// startWriteback sends n bytes of f on their way to the disk: the system does so
// when it likes.
func startWriteback(*os.File, int64, int64) {}

// shareBlocks reports whether dst became a copy of src that shares its blocks.
func shareBlocks(dst, src *os.File) bool { return false }

// copyRange copies up to n bytes inside the kernel: the system cannot.
func copyRange(dst, src *os.File, off int64, n int) (int, error) { return 0, errors.ErrUnsupported }
