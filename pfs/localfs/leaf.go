package localfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// LeafDigests reads the staged bytes leaf by leaf. Other leaves may be written meanwhile.
func (w *staged) LeafDigests(ctx context.Context, size, first int64, n int) ([]pfs.LeafDigest, error) {
	return digest.Leaves(ctx, "localfs.Staged.LeafDigests", w.name, w.ReadAt, size, first, n)
}
