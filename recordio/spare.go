package recordio

import (
	"math/bits"
	"sync"
)

// spares are the large arrays of Scanners and Writers that were closed, by the
// logarithm of their size. The next ones begin with them: fresh memory takes longer to
// be had than to be filled. What is in them is not cleared, and nobody reads what he has
// not written.
var spares [bits.UintSize]sync.Pool // of *[]byte

const (
	leastSpare = 1 << 20 // arrays smaller than this are not kept
	spareSlack = 1       // how much larger an array may be than what it is taken for, as a logarithm
)

// takeSpare returns an array of n bytes or a few times more; nil if there is none, or n
// is small.
func takeSpare(n int) []byte {
	if n < leastSpare {
		return nil
	}
	class := bits.Len(uint(n))
	for i := class; i <= class+spareSlack && i < len(spares); i++ {
		if p, ok := spares[i].Get().(*[]byte); ok && len(*p) >= n {
			return *p
		}
	}
	return nil
}

// giveSpare keeps the array of p, which nobody may use any more.
func giveSpare(p []byte) {
	if p = p[:cap(p)]; len(p) >= leastSpare {
		spares[bits.Len(uint(len(p)))].Put(&p)
	}
}

// reserve returns p with room for n more bytes. It at least doubles an array that has
// too little: a spare one, if there is one.
func reserve(p []byte, n int) []byte {
	if cap(p)-len(p) >= n {
		return p
	}
	return enlarge(p, max(len(p)+n, 2*cap(p)))
}

// enlarge moves p to an array of size bytes, or a spare one of a few times more.
func enlarge(p []byte, size int) []byte {
	grown := takeSpare(size)
	if grown == nil {
		grown = make([]byte, size)
	}
	return grown[:copy(grown, p)]
}
