package testbed_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestInTurn checks the order of the turns and the names of the metrics.
func TestInTurn(t *testing.T) {
	turns := map[string][]int{}
	var order []string
	way := func(name string) testbed.Way {
		return testbed.Way{Name: name, Do: func(round int) {
			turns[name] = append(turns[name], round)
			order = append(order, name)
		}}
	}
	var rates []float64
	result := testing.Benchmark(func(b *testing.B) { rates = testbed.InTurn(b, 1, "files/s", []testbed.Way{way("one"), way("two")}) })
	if got := slices.Sorted(maps.Keys(result.Extra)); !slices.Equal(got, []string{"one-files/s", "two-files/s"}) {
		t.Errorf("the metrics are %q", got)
	}
	if len(rates) != 2 || rates[0] != result.Extra["one-files/s"] || rates[1] != result.Extra["two-files/s"] {
		t.Errorf("rates %v are returned and %v reported", rates, result.Extra)
	}
	if !slices.Equal(order[:4], []string{"one", "two", "one", "two"}) || len(turns["one"]) != result.N+1 || turns["two"][1] != 1 {
		t.Errorf("%d rounds of which %d count, in the order %q", len(turns["one"]), result.N, order[:4])
	}
}
