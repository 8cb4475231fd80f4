package transfer

import (
	"slices"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// names is a set of names with 16 bytes each: it keeps 128-bit hashes, which do not collide in
// practice. All names are added before the first lookup.
type names struct {
	hashes []pfs.LeafDigest
	sorted bool
}

func (s *names) add(name string) {
	s.hashes = append(s.hashes, digest.Leaf([]byte(name)))
	s.sorted = false
}

func (s *names) has(name string) bool {
	if !s.sorted {
		slices.SortFunc(s.hashes, compareHashes)
		s.sorted = true
	}
	_, found := slices.BinarySearchFunc(s.hashes, digest.Leaf([]byte(name)), compareHashes)
	return found
}

func compareHashes(a, b pfs.LeafDigest) int { return slices.Compare(a[:], b[:]) }
