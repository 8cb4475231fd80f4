package digest

import "github.com/paddlecloud/pfs/pfs"

// Hash computes the digest of a file whose bytes are written to it in order.
type Hash struct {
	tree *Tree
	leaf hasher
	n    int // bytes in leaf
}

// NewHash begins the digest of a file of size bytes. It answers Unsupported for an
// unknown algorithm.
func NewHash(name string, size int64) (*Hash, error) {
	t, err := NewTree(name, size)
	return &Hash{tree: t, leaf: newHasher(name)}, err
}

// Write takes the next bytes. It never fails.
func (h *Hash) Write(p []byte) (int, error) {
	for q := p; len(q) > 0; {
		k := min(len(q), pfs.ChunkSize-h.n)
		_, _ = h.leaf.Write(q[:k])
		if q, h.n = q[k:], h.n+k; h.n == pfs.ChunkSize {
			h.flush()
		}
	}
	return len(p), nil
}

func (h *Hash) flush() {
	h.tree.Add(h.leaf.Sum(nil))
	h.leaf.Reset()
	h.n = 0
}

// Sum returns the digest once every byte was written.
func (h *Hash) Sum() string {
	if h.n > 0 {
		h.flush()
	}
	return h.tree.Sum()
}
