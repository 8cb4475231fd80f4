package recordio

import (
	"math/bits"
	"sync"
)

// bufPools hold the large arrays of closed Scanners and Writers, by the logarithm of their size,
// because allocating fresh memory takes longer than filling it. The arrays are not cleared; users
// read only what they have written.
var bufPools [bits.UintSize]sync.Pool // of *[]byte

const (
	leastPooled = 1 << 20 // arrays smaller than this are not kept
	poolSlack   = 1       // how much larger than needed an array may be, as a logarithm
)

// takeBuf returns a pooled array of n bytes, or a few times more. It returns nil if there is none
// or n is small.
func takeBuf(n int) []byte {
	if n < leastPooled {
		return nil
	}
	class := bits.Len(uint(n))
	for i := class; i <= class+poolSlack && i < len(bufPools); i++ {
		if p, ok := bufPools[i].Get().(*[]byte); ok && len(*p) >= n {
			return *p
		}
	}
	return nil
}

// giveBuf returns the array of p to the pool. The caller must not use it afterwards.
func giveBuf(p []byte) {
	if p = p[:cap(p)]; len(p) >= leastPooled {
		bufPools[bits.Len(uint(len(p)))].Put(&p)
	}
}

// reserve returns p with capacity for n more bytes. If it needs a larger array, it uses one from
// the pool or at least doubles the size.
func reserve(p []byte, n int) []byte {
	if cap(p)-len(p) >= n {
		return p
	}
	return enlarge(p, max(len(p)+n, 2*cap(p)))
}

// enlarge copies p to a new array of size bytes, or a pooled one that is up to a few times larger.
func enlarge(p []byte, size int) []byte {
	grown := takeBuf(size)
	if grown == nil {
		grown = make([]byte, size)
	}
	return grown[:copy(grown, p)]
}
