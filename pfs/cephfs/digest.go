//go:build ceph

package cephfs

import (
	"context"
	"io"
	"runtime"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// Digest computes a digest from the stored bytes, not from what is kept.
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

// LeafDigests reads what was staged, one leaf after the other. Other leaves may be written
// meanwhile.
func (w *staged) LeafDigests(ctx context.Context, size, first int64, n int) ([]pfs.LeafDigest, error) {
	const op = "cephfs.Staged.LeafDigests"
	if size < 0 || first < 0 || n < 0 {
		return nil, pfs.Errorf(op, w.name, pfs.Invalid, "%d leaves from %d on, of %d bytes", n, first, size)
	}
	var leaves []pfs.LeafDigest
	var buf []byte
	for i := first; n > 0 && size > 0 && i <= (size-1)/pfs.ChunkSize; i++ {
		if buf == nil {
			buf = make([]byte, min(size, pfs.ChunkSize))
		}
		want := int(min(pfs.ChunkSize, size-i*pfs.ChunkSize))
		k, err := w.ReadAt(ctx, buf[:want], i*pfs.ChunkSize)
		if err != nil && err != io.EOF {
			return nil, err
		}
		if k < want {
			break
		}
		leaves = append(leaves, digest.Leaf(buf[:want]))
		n--
	}
	return leaves, nil
}
