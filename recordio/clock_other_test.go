//go:build !unix

package recordio

import "testing"

// clock measures nothing where there is no rusage.
type clock struct{}

func startClock() clock { return clock{} }

func (clock) report(*testing.B, int) {}
