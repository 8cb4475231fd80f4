package fuse

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestNameTable does random operations on the table of names and on a map.
func TestNameTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	table, want := newNameTable(), map[link]*node{}
	dirs := []*node{{num: 1}, {num: 2}, {num: 300}}
	for i := range 200_000 {
		names := 4000
		if i/50_000%2 == 1 {
			names = 40 // it becomes smaller
		}
		l := link{dirs[r.IntN(len(dirs))], fmt.Sprint(r.IntN(4000))}
		n := table.get(l.parent, l.base)
		if n != want[l] {
			t.Fatalf("operation %d: %v of %d is %p, want %p", i, l.base, l.parent.num, n, want[l])
		}
		switch {
		case n != nil && (r.IntN(2) == 0 || len(want) > names):
			table.remove(n)
			delete(want, l)
		case n == nil && len(want) < names:
			want[l] = &node{name: l}
			table.add(want[l])
		}
		if table.used != len(want) || table.used > len(table.slots)/4*3 {
			t.Fatalf("%d of %d slots are used, want %d", table.used, len(table.slots), len(want))
		}
	}
}
