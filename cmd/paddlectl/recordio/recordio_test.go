package recordio

import (
	"math"
	"testing"
)

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
