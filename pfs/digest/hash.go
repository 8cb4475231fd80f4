package digest

import "github.com/paddlecloud/pfs/pfs"

// Unknown is the size of a file whose length is known when all of its bytes were written.
const Unknown = -1

// Hash computes the digest of a file whose bytes are written to it in order.
type Hash struct {
	name   string
	length int64 // written so far
	leaf   hasher
	n      int      // bytes in leaf
	tree   *Tree    // nil if the size is unknown
	leaves [][]byte // the hashes then
}

// NewHash begins the digest of a file of size bytes, or of Unknown size, for which it keeps the hash of each leaf. It
// answers Unsupported for an unknown algorithm.
func NewHash(name string, size int64) (*Hash, error) {
	h := &Hash{name: name, leaf: newHasher(name)}
	t, err := NewTree(name, size)
	if size != Unknown {
		h.tree = t
	}
	return h, err
}

// Write takes the next bytes. It never fails.
func (h *Hash) Write(p []byte) (int, error) {
	h.length += int64(len(p))
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
	if sum := h.leaf.Sum(nil); h.tree != nil {
		h.tree.Add(sum)
	} else {
		h.leaves = append(h.leaves, sum)
	}
	h.leaf.Reset()
	h.n = 0
}

// Sum returns the digest once every byte was written.
func (h *Hash) Sum() string {
	if h.n > 0 {
		h.flush()
	}
	if h.tree == nil {
		h.tree, _ = NewTree(h.name, h.length) // NewHash has checked the name
		for _, sum := range h.leaves {
			h.tree.Add(sum)
		}
	}
	return h.tree.Sum()
}

// Leaf returns the hash of leaf i of the bytes written so far, of which the last may be incomplete. The size
// must be Unknown.
func (h *Hash) Leaf(i int64) []byte {
	if i < int64(len(h.leaves)) {
		return h.leaves[i]
	}
	return h.leaf.Sum(nil)
}
