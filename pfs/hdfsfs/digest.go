package hdfsfs

import (
	"context"
	"runtime"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// Digest computes a digest from the stored bytes, not from what is kept.
func (f *FS) Digest(ctx context.Context, name pfs.Path, algorithm string, progress func(done int64)) (string, error) {
	const op = "hdfsfs.Digest"
	h, err := f.open(ctx, op, name)
	if err != nil {
		return "", err
	}
	defer h.Close()
	d, err := digest.OfFile(ctx, h, algorithm, runtime.GOMAXPROCS(0), progress)
	return d, fail(op, name, err)
}
