package transfer

import (
	"context"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// row puts the digests of leaves, which come in any order, in order: into the tree
// digest, and into the journal.
type row struct {
	log *journal

	mu      sync.Mutex
	tree    *digest.Tree
	next    int64                    // the leaf that the tree waits for
	pending map[int64]pfs.LeafDigest // those after it
}

func newRow(tree *digest.Tree, log *journal) *row {
	return &row{tree: tree, log: log, pending: map[int64]pfs.LeafDigest{}}
}

// add takes the digest of leaf i, which is right in the source and at the target.
func (r *row) add(ctx context.Context, i int64, d pfs.LeafDigest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending[i] = d
	for {
		d, ok := r.pending[r.next]
		if !ok {
			return
		}
		delete(r.pending, r.next)
		r.tree.Add(d[:])
		r.log.add(ctx, r.next, d)
		r.next++
	}
}
