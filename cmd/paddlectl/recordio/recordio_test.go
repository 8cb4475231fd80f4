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
		s := newLengthStats(false)
		for _, n := range tt.lengths {
			s.add(make([]byte, n))
		}
		if got := s.median(); got != tt.want {
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
		s := newLengthStats(true)
		s.add([]byte(text))
		if got := s.entropy(); math.Abs(got-want) > 1e-9 {
			t.Errorf("%.8q: %v bits a byte, want %v", text, got, want)
		}
	}
}

func TestRanges(t *testing.T) {
	tests := []struct {
		text   string
		lo, hi int64
		ok     bool
	}{
		{"3:7", 3, 7, true},
		{"3:", 3, math.MaxInt64, true},
		{":7", 0, 7, true},
		{":", 0, math.MaxInt64, true},
		{"7:7", 7, 7, true},
		{"7", 0, 0, false},
		{"7:3", 0, 0, false},
		{"-1:3", 0, 0, false},
		{"a:b", 0, 0, false},
		{"1:2:3", 0, 0, false},
		{"99999999999999999999:", 0, 0, false},
	}
	for _, tt := range tests {
		r := recordRange{hi: math.MaxInt64}
		err := r.Set(tt.text)
		if ok := err == nil; ok != tt.ok || ok && (r.lo != tt.lo || r.hi != tt.hi) {
			t.Errorf("%q: %d:%d (%v), want %d:%d", tt.text, r.lo, r.hi, err, tt.lo, tt.hi)
		}
	}
}

func TestNamedAfter(t *testing.T) {
	for base, want := range map[string]string{
		"train":                       "train-%05d",
		"train.recordio":              "train-%05d.recordio",
		"log-20240101":                "log-20240101-%05d",
		"h-00000-of-00007":            "h-%05d-of-%05d",
		"h-00003-of-00007.recordio":   "h-%05d-of-%05d.recordio",
		"50%-00000-of-00007":          "50%%-%05d-of-%05d",
		"h-00000-of-00007-00001":      "h-00000-of-00007-00001-%05d",
		"a-00000-of-00002-0-of-2":     "a-00000-of-00002-0-of-2-%05d",
		"a-00000-of-00002.x.recordio": "a-00000-of-00002.x-%05d.recordio",
	} {
		if got := namedAfter(base); got != want {
			t.Errorf("%s: got %s, want %s", base, got, want)
		}
	}
}
