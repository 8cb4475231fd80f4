package localfs

import (
	"context"
	"io"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// LeafDigests reads what was staged, one leaf after the other. Other leaves may be
// written meanwhile.
func (w *staged) LeafDigests(ctx context.Context, size, first int64, n int) ([]pfs.LeafDigest, error) {
	const op = "localfs.Staged.LeafDigests"
	if size < 0 || first < 0 || n < 0 {
		return nil, pfs.Errorf(op, w.name, pfs.Invalid, "%d leaves from %d on, of %d bytes", n, first, size)
	}
	var leaves []pfs.LeafDigest
	var buf []byte
	for i := first; n > 0 && i <= (size-1)/pfs.ChunkSize && size > 0; i++ {
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
