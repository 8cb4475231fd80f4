package faults

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/relay"
)

// line is the connection between client and service, which can cut or flip bits.
type line struct {
	*relay.Relay

	mu    sync.Mutex
	every int  // bytes between faults
	left  int  // faults to come
	flip  bool // flip a bit, do not cut
	since int  // bytes since the last fault
	all   int  // bytes so far

	delay atomic.Int64 // in ns, for all that passes
}

func newLine(t *testing.T, target func() string) *line {
	t.Helper()
	l := &line{}
	l.Relay = relay.New(t, target, l.spoil)
	return l
}

// maxFaults is how many faults one copy meets: fewer than its attempts.
const maxFaults = 4

// startFaults makes a fault after each every bytes from now on.
func (l *line) startFaults(every int, flip bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.every, l.flip, l.since, l.left = max(every, 256<<10), flip, 0, maxFaults
}

// cutNext cuts the connection at each of the next n times that something passes.
func (l *line) cutNext(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.every, l.flip, l.since, l.left = 1, false, 0, n
}

// calm ends the faults.
func (l *line) calm() {
	l.delay.Store(0)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = 0
}

// passed returns the number of bytes so far, in both directions.
func (l *line) passed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// spoil applies a due fault to p, and reports whether the connection lives.
func (l *line) spoil(_ int, p []byte) bool {
	time.Sleep(time.Duration(l.delay.Load()))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all += len(p)
	if l.left == 0 {
		return true
	}
	if l.since += len(p); l.since < l.every {
		return true
	}
	l.since = 0
	l.left--
	if l.flip {
		p[len(p)/2] ^= 1
		return true
	}
	return false
}
