package shard

import "math/bits"

// rounds of the Feistel network. Four make it look random to any statistic that
// matters for large n; more are for small n, where a round decides only few bits.
const rounds = 10

// permutation is a bijection on 0..n-1 that looks random: a Feistel network on as few
// bits as n needs, walked on until it comes back into the range (less than twice on
// average). It takes no memory beyond its key.
type permutation struct {
	n           int64
	key         uint64
	left, right uint // bits of the halves
}

// permute returns the permutation of 0..n-1 of a key that is well mixed; n >= 0.
func permute(n int64, key uint64) permutation {
	width := uint(0)
	if n > 1 {
		width = uint(bits.Len64(uint64(n - 1)))
	}
	return permutation{n: n, key: key, left: (width + 1) / 2, right: width / 2}
}

// at returns what is at place i, 0 <= i < n.
func (p *permutation) at(i int64) int64 {
	x := p.network(uint64(i))
	for x >= uint64(p.n) {
		x = p.network(x)
	}
	return int64(x)
}

// network changes the halves in turn, each by a function of the other, so that every
// round can be undone and the whole is a bijection whatever the function.
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
