package transfer

import (
	"errors"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

func TestFilterTakes(t *testing.T) {
	in := func(p string) Rule { return Rule{Pattern: p} }
	out := func(p string) Rule { return Rule{Exclude: true, Pattern: p} }
	for _, c := range []struct {
		rules         []Rule
		rel           string
		isDir         bool
		takes, enters bool
	}{
		{nil, "a/b.txt", false, true, true},
		{[]Rule{out("*.txt")}, "a/b.txt", false, false, false},
		{[]Rule{out("*.txt")}, "a/b.png", false, true, true},
		{[]Rule{out("a/")}, "a", true, false, false},
		{[]Rule{out("a/")}, "a/b/c.png", false, false, false},
		{[]Rule{in("*.png")}, "a", true, false, true},
		{[]Rule{in("*.png")}, "a/b.png", false, true, true},
		{[]Rule{in("*.png")}, "a/b.txt", false, false, true},
		{[]Rule{in("a/")}, "a/b/c.png", false, true, true},
		{[]Rule{out("*.png"), in("/a/x.png")}, "a/x.png", false, true, true},
		{[]Rule{out("*.png"), in("/a/x.png")}, "b/x.png", false, false, false},
	} {
		f, err := NewFilter(c.rules)
		if err != nil {
			t.Fatal(err)
		}
		if takes, enters := f.Takes(c.rel, c.isDir); takes != c.takes || enters != c.enters {
			t.Errorf("%v: %s is taken %v, entered %v", c.rules, c.rel, takes, enters)
		}
	}
	if _, err := NewFilter([]Rule{in("[")}); !errors.Is(err, pfs.Invalid) {
		t.Errorf("a malformed pattern: %v", err)
	}
}
