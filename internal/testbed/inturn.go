package testbed

import (
	"slices"
	"testing"
	"time"
)

// Way is one of the ways to do the same that a benchmark compares.
type Way struct {
	Name string
	Do   func(round int) // rounds count from 0
}

// InTurn measures ways to do the same. One iteration of b is one round, in which each way has its turn, so that
// what else the machine does meets all of them; the first round is not counted. Do moves amount of something: the
// median of each way over the rounds is reported in amount a second, as NAME-UNIT, and returned in the order of
// the ways. Only the ratios of one run mean something, since machines differ and have other work.
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
