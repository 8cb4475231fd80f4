//go:build unix

package recordio

import (
	"syscall"
	"testing"
	"time"
)

// clock measures the processor's time, which other programs on the machine disturb less than the
// wall's.
type clock struct{ begin time.Duration }

func startClock() clock { return clock{used()} }

// report adds seconds of processor time for each GB of n bytes an iteration.
func (c clock) report(b *testing.B, n int) {
	b.ReportMetric((used()-c.begin).Seconds()/float64(b.N)/float64(n)*1e9, "CPU-s/GB")
}

func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
