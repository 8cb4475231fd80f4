package memfs

import (
	"fmt"
	"testing"
)

// TestPlacesAreGivenBack: neither a removal nor a page costs more in a directory that has seen
// many names come and go.
func TestPlacesAreGivenBack(t *testing.T) {
	const n, stay = 10_000, 10
	d := newDirectory()
	for i := range uint64(n) {
		d.put(fmt.Sprint(i), &node{}, i+1)
	}
	for i := range n - stay {
		d.drop(fmt.Sprint(i))
	}
	if got := len(d.order); got > 2*stay {
		t.Errorf("%d places for %d entries", got, stay)
	}
	page := New(Options{}).page(d, 0, stay-1)
	if len(page.Entries) != stay-1 || page.Next == "" {
		t.Fatalf("page of %d entries, next %q", len(page.Entries), page.Next)
	}
	for i, e := range page.Entries {
		if want := fmt.Sprint(n - stay + i); e.Name != want {
			t.Errorf("entry %d is %s, want %s", i, e.Name, want)
		}
	}
}
