package shard

import "math/bits"

// Rounds of the Feistel network. Four are enough for large n; small n need more, because a round
// then determines only few bits.
const rounds = 10

// permutation is a pseudo-random bijection on 0..n-1: a Feistel network on as few bits as n needs,
// repeated until the result is in range (less than twice on average). It needs no memory beyond its
// key.
type permutation struct {
	n           int64
	key         uint64
	left, right uint // bits of the two halves
}

// permute returns the permutation of 0..n-1 for a well-mixed key; n >= 0.
func permute(n int64, key uint64) permutation {
	width := uint(0)
	if n > 1 {
		width = uint(bits.Len64(uint64(n - 1)))
	}
	return permutation{n: n, key: key, left: (width + 1) / 2, right: width / 2}
}

// at returns the element at index i, 0 <= i < n.
func (p *permutation) at(i int64) int64 {
	x := p.network(uint64(i))
	for x >= uint64(p.n) {
		x = p.network(x)
	}
	return int64(x)
}

// network changes the halves alternately, each by a function of the other. Every round can be
// undone, so the whole is a bijection whatever the function.
func (p *permutation) network(x uint64) uint64 {
	left, right, key := x>>p.right, x&(1<<p.right-1), p.key
	for range rounds / 2 {
		left ^= mix(right^key) >> (64 - p.left)
		key += golden
		right ^= mix(left^key) >> (64 - p.right)
		key += golden
	}
	return left<<p.right | right
}
