package testbed

import (
	"slices"
	"testing"
	"time"
)

// Way is one of the contenders in a benchmark.
type Way struct {
	Name string
	Do   func(round int) // rounds count from 0
}

// InTurn compares several ways to do the same work. One iteration of b is one round, in which each
// way has its turn, so that other load on the machine affects all of them; the first round is not
// counted. Do processes amount of something: the median of each way over the rounds is reported in
// amount per second, as NAME-UNIT, and returned in the order of the ways. Only ratios within one
// run are meaningful, since machines differ and have other work.
func InTurn(b *testing.B, amount float64, unit string, ways []Way) []float64 {
	b.Helper()
	for _, w := range ways {
		w.Do(0)
	}
	took := make([][]time.Duration, len(ways))
	for round := 1; b.Loop(); round++ {
		for i, w := range ways {
			start := time.Now()
			w.Do(round)
			took[i] = append(took[i], time.Since(start))
		}
	}
	rates := make([]float64, len(ways))
	for i, w := range ways {
		slices.Sort(took[i])
		rates[i] = amount / took[i][len(took[i])/2].Seconds()
		b.ReportMetric(rates[i], w.Name+"-"+unit)
	}
	return rates
}
