package pfs

import "math"

// CheckRange answers Invalid for n bytes from offset off on that no file can have. Every
// ReadAt and WriteAt of an implementation begins with it.
func CheckRange(op string, name Path, off int64, n int) error {
	if off < 0 || off > math.MaxInt64-int64(n) {
		return Errorf(op, name, Invalid, "%d bytes from offset %d on", n, off)
	}
	return nil
}
