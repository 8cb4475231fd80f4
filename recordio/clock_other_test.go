//go:build !unix

package recordio

import "testing"

// clock measures nothing on systems without rusage.
type clock struct{}

func startClock() clock { return clock{} }

func (clock) report(*testing.B, int) {}
