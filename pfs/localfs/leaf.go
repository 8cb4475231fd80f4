package localfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// LeafDigests reads what was staged, one leaf after the other. Other leaves may be
// written meanwhile.
func (w *staged) LeafDigests(ctx context.Context, size, first int64, n int) ([]pfs.LeafDigest, error) {
	read := func(p []byte, off int64) (int, error) { return w.ReadAt(ctx, p, off) }
	return digest.Leaves("localfs.Staged.LeafDigests", w.name, read, size, first, n)
}
