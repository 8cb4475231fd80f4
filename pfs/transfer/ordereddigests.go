package transfer

import (
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// orderedDigests collects the digests of leaves in any order and adds them to the tree digest
// in ordeo. A digest that waits for an earlier one takes about 16 bytes.
type orderedDigests struct {
	mu      sync.Mutex
	tree    *digest.Tree
	next    int64                    // the leaf that the tree waits for
	pending map[int64]pfs.LeafDigest // those after it
}

func newOrderedDigests(tree *digest.Tree) *orderedDigests {
	return &orderedDigests{tree: tree, pending: map[int64]pfs.LeafDigest{}}
}

// add takes the digest of leaf i, once it is verified in the source and at the target.
func (o *orderedDigests) add(i int64, d pfs.LeafDigest) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pending[i] = d
	for {
		d, ok := o.pending[o.next]
		if !ok {
			return
		}
		delete(o.pending, o.next)
		o.tree.Add(d[:])
		o.next++
	}
}
