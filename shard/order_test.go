package shard

import (
	"math"
	"slices"
	"testing"
)

// take returns the first n values of an order.
func take(o Order, n int64) []int64 {
	var out []int64
	for i := range min(n, o.Len()) {
		out = append(out, o.At(i))
	}
	return out
}

func block(t testing.TB, window int, seed, epoch uint64, records ...int64) *Block {
	t.Helper()
	b, err := NewBlock(records, window, seed, epoch)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func lanes(t testing.TB, o Order, n int) *Lanes {
	t.Helper()
	l, err := NewLanes(o, n)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestOrderNeverChanges: the order is a format. If this test fails, jobs that go on with a cursor
// they kept repeat and lose records: change the code, not the values.
func TestOrderNeverChanges(t *testing.T) {
	tests := []struct {
		name  string
		order Order
		want  []int64
	}{
		{"global", NewGlobal(1000, 42, 0), []int64{396, 5, 401, 476, 499, 766, 24, 456, 425, 267, 835, 246, 247, 621, 214, 753, 378, 264, 215, 335}},
		{"global, next epoch", NewGlobal(1000, 42, 1), []int64{127, 237, 760, 674, 444, 41, 693, 800, 843, 379, 870, 324, 930, 16, 995, 22, 461, 829, 158, 538}},
		{"global, 10", NewGlobal(10, 0, 0), []int64{8, 3, 6, 4, 0, 5, 9, 1, 7, 2}},
		{"global, 2^40", NewGlobal(1<<40, 7, 3), []int64{711247540831, 974115935018, 397384595955, 402585327490, 286494172664, 82579627869, 787376213944, 558816355724, 445773438381, 64944969715, 470278662731, 246713784634, 627359878560, 255637582758, 17043024726, 180510802774, 187761268053, 356933033122, 331188732453, 582221093377}},
		{"block", block(t, 2, 42, 0, 5, 3, 0, 4, 2, 6), []int64{12, 13, 9, 10, 16, 19, 14, 8, 11, 15, 17, 18, 2, 0, 7, 6, 1, 4, 3, 5}},
		{"block, next epoch", block(t, 2, 42, 1, 5, 3, 0, 4, 2, 6), []int64{11, 8, 9, 10, 4, 13, 1, 2, 0, 3, 12, 14, 15, 19, 16, 18, 6, 7, 5, 17}},
		{"lanes", lanes(t, Sequential(11), 4), []int64{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8}},
	}
	for _, tt := range tests {
		if got := take(tt.order, 20); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %#v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestOrdersAreBijections(t *testing.T) {
	check := func(name string, o Order) {
		t.Helper()
		seen := make([]bool, o.Len())
		for i := range o.Len() {
			r := o.At(i)
			if r < 0 || r >= o.Len() || seen[r] {
				t.Fatalf("%s of %d: position %d has record %d, out of range or twice", name, o.Len(), i, r)
			}
			seen[r] = true
		}
		for _, i := range []int64{-1, o.Len(), math.MinInt64, math.MaxInt64} {
			if got := o.At(i); got != -1 {
				t.Errorf("%s of %d: position %d: got %d, want -1", name, o.Len(), i, got)
			}
		}
	}
	for n := range int64(260) {
		check("sequential", Sequential(n))
		check("global", NewGlobal(n, 1, uint64(n)))
	}
	check("sequential", Sequential(-1))
	check("global", NewGlobal(-1, 1, 1))
	for _, n := range []int64{1<<16 - 1, 1 << 16, 1<<16 + 1, 100003} {
		check("global", NewGlobal(n, 9, 9))
	}
	for seed := range uint64(60) {
		records := random(seed, int(seed%17), 9)
		for _, window := range []int{1, 2, 5, 100, math.MaxInt} {
			b := block(t, window, seed, 3, records...)
			check("block", b)
			for _, n := range []int{1, 2, 3, 7, 1000} {
				check("lanes", lanes(t, b, n))
			}
		}
	}
}

func TestGlobalAtTheLargest(t *testing.T) {
	o := NewGlobal(math.MaxInt64, 5, 5)
	for i := range int64(1000) {
		if r := o.At(i); r < 0 {
			t.Fatalf("position %d: record %d", i, r)
		}
	}
}

// TestGlobalIsUniform checks that over many seeds and epochs each record comes to each position
// equally often. The seeds are fixed, so the outcome is too.
func TestGlobalIsUniform(t *testing.T) {
	for _, n := range []int64{2, 3, 5, 8, 10, 17} {
		const trials = 8000
		counts := make([]float64, n*n)
		for s := range uint64(trials) {
			o := NewGlobal(n, s/2, s%2)
			for i := range n {
				counts[i*n+o.At(i)]++
			}
		}
		var chi float64
		want := trials / float64(n)
		for _, c := range counts {
			chi += (c - want) * (c - want) / want
		}
		freedom := float64((n - 1) * (n - 1))
		if limit := freedom + 4*math.Sqrt(2*freedom) + 8; chi > limit {
			t.Errorf("%d records: chi-square %.1f, limit %.1f for %.0f degrees of freedom", n, chi, limit, freedom)
		}
	}
}

// TestGlobalScatters checks that neighbours in the order are as far apart as in a random one, a
// third of the records on average, and that order and storage do not correlate.
func TestGlobalScatters(t *testing.T) {
	const n = 100_000
	o := NewGlobal(n, 1, 1)
	var apart, correlated float64
	for i := range int64(n - 1) {
		a, b := float64(o.At(i)), float64(o.At(i+1))
		apart += math.Abs(a-b) / n
		correlated += (float64(i)/n - 0.5) * (a/n - 0.5) * 12
	}
	if mean := apart / n; math.Abs(mean-1.0/3) > 0.005 {
		t.Errorf("distance of neighbours: got %.4f of all, want 0.333", mean)
	}
	if r := correlated / n; math.Abs(r) > 0.015 {
		t.Errorf("correlation with storage: got %.4f, want 0", r)
	}
}

func TestSeedsAndEpochsDiffer(t *testing.T) {
	seen := map[int64]bool{}
	const n = 1 << 40
	for seed := range uint64(20) {
		for epoch := range uint64(20) {
			seen[NewGlobal(n, seed, epoch).At(0)] = true
		}
	}
	if len(seen) != 400 {
		t.Errorf("first records of 400 orders: %d different ones", len(seen))
	}
}

// TestBlockStaysNear: a window of the order holds exactly the records of its blocks, so that
// reading touches each block in one window only.
func TestBlockStaysNear(t *testing.T) {
	const blocks, size, window = 40, 25, 4
	b := block(t, window, 3, 3, slices.Repeat([]int64{size}, blocks)...)
	seen := map[int64]int64{} // block: its window
	for i := range b.Len() {
		w := i / (size * window)
		blk := b.At(i) / size
		if before, ok := seen[blk]; ok && before != w {
			t.Fatalf("block %d is in windows %d and %d", blk, before, w)
		}
		seen[blk] = w
	}
	first := take(b, size*window)
	if slices.IsSorted(first) {
		t.Error("the first window is not shuffled")
	}
	touched := map[int64]bool{}
	for _, r := range first[:size] {
		touched[r/size] = true
	}
	if len(touched) != window {
		t.Errorf("the first %d records come from %d blocks, want %d", size, len(touched), window)
	}
}

// TestLanesKeepTrainersApart checks that trainers whose number divides that of the lanes read
// separate blocks, except at the ends of lanes.
func TestLanesKeepTrainersApart(t *testing.T) {
	const blocks, size, window, n = 64, 20, 4, 8
	b := block(t, window, 1, 1, slices.Repeat([]int64{size}, blocks)...)
	for _, trainers := range []int{1, 2, 4, 8} {
		read := blocksRead(t, lanes(t, b, n), trainers, size)
		if read != blocks { // windows end where lanes do
			t.Errorf("%d trainers in %d lanes: %d blocks read, want %d", trainers, n, read, blocks)
		}
	}
	if read := blocksRead(t, b, 4, size); read < 3*blocks {
		t.Errorf("4 trainers without lanes: %d blocks read, want about %d", read, 4*blocks)
	}
}

// blocksRead returns how many blocks all trainers read together in an epoch.
func blocksRead(t *testing.T, o Order, trainers int, size int64) int {
	t.Helper()
	read := 0
	for id := range trainers {
		w, err := NewWalk(o, 0, Trainer{id, trainers}, Exact)
		if err != nil {
			t.Fatal(err)
		}
		mine := map[int64]bool{}
		for r, ok := w.Next(); ok; r, ok = w.Next() {
			mine[r/size] = true
		}
		read += len(mine)
	}
	return read
}

func TestOrdersRefuse(t *testing.T) {
	for name, err := range map[string]error{
		"no lanes":         second(NewLanes(Sequential(1), 0)),
		"no window":        second(NewBlock([]int64{1}, 0, 0, 0)),
		"negative records": second(NewBlock([]int64{1, -1}, 1, 0, 0)),
		"overflow":         second(NewBlock([]int64{math.MaxInt64, 1}, 1, 0, 0)),
	} {
		if err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func BenchmarkGlobal(b *testing.B) {
	o := NewGlobal(1_000_000_007, 1, 1)
	for i := int64(0); b.Loop(); i++ {
		o.At(i % o.Len())
	}
}

func BenchmarkBlock(b *testing.B) {
	o := block(b, 64, 1, 1, slices.Repeat([]int64{1000}, 100_000)...)
	for i := int64(0); b.Loop(); i++ {
		o.At(i % o.Len())
	}
}
