//go:build !linux

package localfs

import (
	"errors"
	"os"
)

// syncsWholeDisk tells whether dirs can syncAll.
const syncsWholeDisk = false

// allocate reserves room for the first size bytes of f, which has some of it already,
// without changing its length: the system cannot.
func allocate(f *os.File, size, has int64) error { return nil }

// startWriteback sends n bytes of f on their way to the disk: the system does so
// when it likes.
func startWriteback(*os.File, int64, int64) {}

// shareBlocks reports whether dst became a copy of src that shares its blocks.
func shareBlocks(dst, src *os.File) bool { return false }

// copyRange copies up to n bytes inside the kernel: the system cannot.
func copyRange(dst, src *os.File, off int64, n int) (int, error) { return 0, errors.ErrUnsupported }
