package recordio

import (
	"math"
	"math/bits"
)

// exactBits is how many binary digits of a length are kept.
const exactBits = 11

// LengthStats sums up the lengths of records in constant memory.
type LengthStats struct {
	Records, Bytes    int64
	Shortest, Longest int

	buckets []int64     // see bucket
	values  *[256]int64 // bytes of each value; nil if not asked for
}

// NewLengthStats returns statistics of no records. With entropy they also count bytes by value.
func NewLengthStats(entropy bool) *LengthStats {
	s := &LengthStats{Shortest: math.MaxInt, buckets: make([]int64, bucket(math.MaxUint32)+1)}
	if entropy {
		s.values = new([256]int64)
	}
	return s
}

// Add counts a record.
func (s *LengthStats) Add(rec []byte) {
	n := len(rec)
	s.Records++
	s.Bytes += int64(n)
	s.Shortest, s.Longest = min(s.Shortest, n), max(s.Longest, n)
	s.buckets[bucket(uint64(n))]++
	if s.values != nil {
		for _, b := range rec {
			s.values[b]++
		}
	}
}

// bucket returns the number of the bucket of length n: one for each length that has
// up to exactBits digits, and then as many for each digit more.
func bucket(n uint64) int {
	shift := max(0, bits.Len64(n)-exactBits)
	return shift<<(exactBits-1) + int(n>>shift)
}

// lowest returns the shortest length of bucket b.
func lowest(b int) int {
	shift := max(0, b>>(exactBits-1)-1)
	return (b - shift<<(exactBits-1)) << shift
}

// Median returns the length that half of the records do not exceed. Of lengths from 2048 up it
// is at most 0.1 % too small.
func (s *LengthStats) Median() int {
	left := (s.Records + 1) / 2
	for b, n := range s.buckets {
		if left -= n; left <= 0 {
			return max(s.Shortest, lowest(b))
		}
	}
	return s.Longest
}

// Entropy returns the bits that a byte carries, from 0 to 8.
func (s *LengthStats) Entropy() float64 {
	e := 0.0
	for _, n := range s.values {
		if n > 0 {
			p := float64(n) / float64(s.Bytes)
			e -= p * math.Log2(p)
		}
	}
	return e
}

// LengthRange has the number of records of From to To bytes.
type LengthRange struct {
	From    int   `json:"from"`
	To      int   `json:"to"`
	Records int64 `json:"records"`
}

// Powers returns the histogram of lengths by powers of two, from the shortest to the longest.
func (s *LengthStats) Powers() []LengthRange {
	if s.Records == 0 {
		return []LengthRange{}
	}
	first, last := bits.Len(uint(s.Shortest)), bits.Len(uint(s.Longest))
	list := make([]LengthRange, last-first+1)
	for i := range list {
		top := 1 << (first + i)
		list[i].From, list[i].To = top/2, top-1
	}
	for b, n := range s.buckets {
		if n > 0 {
			list[bits.Len(uint(lowest(b)))-first].Records += n
		}
	}
	return list
}
