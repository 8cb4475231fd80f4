//go:build ceph

package cephfs

import (
	"context"
	"runtime"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// Digest computes a digest from the stored bytes, not from a stored digest.
func (f FS) Digest(ctx context.Context, name pfs.Path, algorithm string, progress func(done int64)) (string, error) {
	const op = "cephfs.Digest"
	r, err := f.openFile(ctx, op, name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	d, err := digest.OfFile(ctx, r, algorithm, runtime.GOMAXPROCS(0), progress)
	return d, fail(op, name, err)
}

// LeafDigests reads the staged bytes leaf by leaf. Other leaves may be written meanwhile.
func (w *staged) LeafDigests(ctx context.Context, size, first int64, n int) ([]pfs.LeafDigest, error) {
	return digest.Leaves(ctx, "cephfs.Staged.LeafDigests", w.name, w.ReadAt, size, first, n)
}
