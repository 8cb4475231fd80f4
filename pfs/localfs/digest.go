package localfs

import (
	"context"
	"runtime"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// Digest computes a digest from the bytes on the disk, not from what is kept.
func (f *FS) Digest(ctx context.Context, name pfs.Path, algorithm string, progress func(done int64)) (string, error) {
	const op = "localfs.Digest"
	r, err := f.openFile(ctx, op, name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	d, err := digest.OfFile(ctx, r, algorithm, runtime.GOMAXPROCS(0), progress)
	return d, fail(op, name, err)
}
