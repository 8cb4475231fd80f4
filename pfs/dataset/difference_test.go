package dataset

import (
	"strings"
	"testing"
)

func TestDifference(t *testing.T) {
	for _, c := range []struct{ before, now, want string }{
		{"a b", "a b", ""},
		{"a b", "a", "it was made with b, which is not given"},
		{"a", "a b", "it was made without b"},
		{"a x b", "a b", "it was made with x, which is not given"},
		{"a b", "a x b", "it was made without x"},
		{"a=1 b", "a=2 b", "it was made with a=1, not a=2"},
		{"", "a", "it was made without a"},
	} {
		if got := difference(strings.Fields(c.before), strings.Fields(c.now)); got != c.want {
			t.Errorf("%s and %s: got %q, want %q", c.before, c.now, got, c.want)
		}
	}
}
