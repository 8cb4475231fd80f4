package transfer

import (
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// row passes the digests of leaves, which come in any order, to the tree digest in
// order. A digest that waits for an earlier one takes some 16 bytes.
type row struct {
	mu      sync.Mutex
	tree    *digest.Tree
	next    int64                    // the leaf that the tree waits for
	pending map[int64]pfs.LeafDigest // those after it
}

func newRow(tree *digest.Tree) *row {
	return &row{tree: tree, pending: map[int64]pfs.LeafDigest{}}
}

// add takes the digest of leaf i, which is right in the source and at the target.
func (r *row) add(i int64, d pfs.LeafDigest) {
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
		r.next++
	}
}
