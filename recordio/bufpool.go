package recordio

import (
	"math/bits"
	"sync"
)

// bufPools are the large arrays of Scanners and Writers that were closed, by the
// logarithm of their size. The next ones begin with them: fresh memory takes longer to
// be had than to be filled. What is in them is not cleared, and nobody reads what he has
// not written.
var bufPools [bits.UintSize]sync.Pool // of *[]byte

const (
	leastPooled = 1 << 20 // arrays smaller than this are not kept
	poolSlack   = 1       // how much larger an array may be than what it is taken for, as a logarithm
)

// takeBuf returns an array of n bytes or a few times more; nil if there is none, or n
// is small.
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

// giveBuf keeps the array of p, which nobody may use any more.
func giveBuf(p []byte) {
	if p = p[:cap(p)]; len(p) >= leastPooled {
		bufPools[bits.Len(uint(len(p)))].Put(&p)
	}
}

// reserve returns p with room for n more bytes. It at least doubles an array that has
// too little: a pooled one, if there is one.
func reserve(p []byte, n int) []byte {
	if cap(p)-len(p) >= n {
		return p
	}
	return enlarge(p, max(len(p)+n, 2*cap(p)))
}

// enlarge moves p to an array of size bytes, or a pooled one of a few times more.
func enlarge(p []byte, size int) []byte {
	grown := takeBuf(size)
	if grown == nil {
		grown = make([]byte, size)
	}
	return grown[:copy(grown, p)]
}
