package pfstest

import "encoding/binary"

// Pattern returns n bytes that depend on seed and on their offset, so that bytes of another file,
// or from another offset, are detected.
func Pattern(seed uint64, n int) []byte {
	p := make([]byte, n)
	fill(p, seed, 0)
	return p
}

// fill sets p to the bytes of Pattern(seed, ...) from offset off on.
func fill(p []byte, seed uint64, off int64) {
	var word [8]byte
	for i := range p {
		at := uint64(off) + uint64(i)
		if i == 0 || at%8 == 0 {
			binary.LittleEndian.PutUint64(word[:], mix(seed<<40^at/8))
		}
		p[i] = word[at%8]
	}
}

// mix is the finalizer of splitmix64: every bit of x changes half of the result.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
