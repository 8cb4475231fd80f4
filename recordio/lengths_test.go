package recordio

import (
	"math"
	"testing"
)

func TestBucketsHoldLengths(t *testing.T) {
	last := -1
	for n := uint64(0); n < math.MaxUint32; n += 1 + n/300 {
		b := bucket(n)
		if b < last {
			t.Fatalf("length %d is in bucket %d, before that of a shorter one", n, b)
		}
		last = b
		low := uint64(lowest(b))
		if low > n || bucket(low) != b || float64(n-low) > 0.001*float64(n) {
			t.Fatalf("length %d is in bucket %d, which begins with %d", n, b, low)
		}
	}
}

func TestMedian(t *testing.T) {
	tests := []struct {
		lengths []int
		want    int
	}{
		{[]int{5}, 5},
		{[]int{5, 1}, 1},
		{[]int{9, 0, 3}, 3},
		{[]int{2047, 2048, 2049}, 2048},
		{[]int{1 << 20, 1<<20 + 1, 1<<20 + 2}, 1 << 20},
	}
	for _, tt := range tests {
		s := NewLengthStats(false)
		for _, n := range tt.lengths {
			s.Add(make([]byte, n))
		}
		if got := s.Median(); got != tt.want {
			t.Errorf("%v: median %d, want %d", tt.lengths, got, tt.want)
		}
	}
}

func TestEntropy(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for text, want := range map[string]float64{"aaaa": 0, "abab": 1, "abcd": 2, string(all): 8} {
		s := NewLengthStats(true)
		s.Add([]byte(text))
		if got := s.Entropy(); math.Abs(got-want) > 1e-9 {
			t.Errorf("%.8q: %v bits a byte, want %v", text, got, want)
		}
	}
}
