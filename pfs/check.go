package pfs

import (
	"context"
	"io"
	"math"
)

// CheckRange answers Invalid for n bytes from offset off on that no file can have. Every
// ReadAt and WriteAt of an implementation begins with it, or is an InChunks.
func CheckRange(op string, name Path, off int64, n int) error {
	if off < 0 || off > math.MaxInt64-int64(n) {
		return Errorf(op, name, Invalid, "%d bytes from offset %d on", n, off)
	}
	return nil
}

// InChunks reads or writes p at offset off: it calls do with one chunk after the other until do
// fails or ctx is done. If do returns less than its chunk without an error, the file has ended
// there, and InChunks returns io.EOF. It calls do at least once.
func InChunks(ctx context.Context, op string, name Path, p []byte, off int64, do func(p []byte, off int64) (int, error)) (n int, err error) {
	if err := CheckRange(op, name, off, len(p)); err != nil {
		return 0, err
	}
	for {
		if err := CheckContext(ctx, op, name); err != nil {
			return n, err
		}
		chunk := p[n:min(len(p), n+ChunkSize)]
		k, err := do(chunk, off+int64(n))
		n += k
		switch {
		case err != nil:
			return n, err
		case k < len(chunk):
			return n, io.EOF
		case n == len(p):
			return n, nil
		}
	}
}
