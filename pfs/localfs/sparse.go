package localfs

import (
	"bytes"
	"os"
)

// holeSize is the size of the aligned blocks that become holes if they are all zeros. Smaller ones
// would cost more in extents than they save.
const holeSize = 64 << 10

// writeSparse writes p at off. Blocks of zeros become holes where the file system can make them,
// regardless of the old content.
func writeSparse(f *os.File, p []byte, off int64) (n int, err error) {
	for n < len(p) {
		at := off + int64(n)
		zeros, length := stretch(p[n:], at)
		if zeros && makeHole(f, at, int64(length)) == nil {
			n += length
			continue
		}
		k, err := f.WriteAt(p[n:n+length], at)
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// readSparse is f.ReadAt, but does not read holes: the system would fill its memory with pages of
// zeros, and sparse files can be larger than any memory.
func readSparse(f *os.File, p []byte, off int64) (int, error) {
	if len(p) >= holeSize && isHole(f, off, int64(len(p))) {
		clear(p)
		return len(p), nil
	}
	return f.ReadAt(p, off)
}

// stretch returns the length of the longest prefix of p, to be written at off, that becomes one
// hole or contains none.
func stretch(p []byte, off int64) (zeros bool, length int) {
	for length < len(p) {
		block := p[length:min(len(p), length+int(holeSize-(off+int64(length))%holeSize))]
		isHole := len(block) == holeSize && allZero(block)
		if length > 0 && isHole != zeros {
			break
		}
		zeros = isHole
		length += len(block)
	}
	return zeros, length
}

// allZero reports whether p holds only zeros. p is not empty.
func allZero(p []byte) bool { return p[0] == 0 && bytes.Equal(p[1:], p[:len(p)-1]) }

// copySparse copies n bytes at off from src to dst. Holes in src become holes in dst.
func copySparse(dst, src *os.File, off, n int64) error {
	for end := off + n; off < end; {
		from, to := nextData(src, off, end)
		if from > off && makeHole(dst, off, from-off) != nil {
			from = off
		}
		if err := copyBytes(dst, src, from, to-from); err != nil {
			return err
		}
		off = to
	}
	return nil
}
