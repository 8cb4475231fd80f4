//go:build unix

package convert

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the processor time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRun reports the wall time of one worker and the rate per second of processor time of all
// goroutines.
func BenchmarkRun(b *testing.B) {
	const size = 32 << 20
	for _, c := range []struct {
		name, file string
		data       []byte
	}{
		{"csv", "a.csv", benchTable(size)},
		{"numbers", "a.csv", benchNumbers(size)},
		{"jsonl", "a.jsonl", benchLines(size)},
		{"text", "a.txt", benchLines(size)},
	} {
		for _, encoding := range []string{"msgpack", "pickle", "json", "raw"} {
			b.Run(c.name+"/"+encoding, func(b *testing.B) {
				b.SetBytes(int64(len(c.data)))
				b.ReportAllocs()
				before := cpuTime()
				for b.Loop() {
					opts := Options{Jobs: 1, Encoding: encoding}
					_, err := Run(b.Context(), oneSource(c.file, c.data), opts, func([]byte) error { return nil })
					if err != nil {
						b.Fatal(err)
					}
				}
				cpu := cpuTime() - before
				b.ReportMetric(float64(len(c.data))*float64(b.N)/1e6/cpu.Seconds(), "MB/cpu-s")
			})
		}
	}
}
