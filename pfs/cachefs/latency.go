package cachefs

import (
	"slices"
	"sync"
	"time"
)

// latency knows how long requests for whole blocks take, and when to send one a second time.
type latency struct {
	mu      sync.Mutex
	recent  [128]time.Duration
	n       int // requests seen
	hedges  int
	p99     time.Duration
	changed int // value of n that p99 was computed for
}

// add counts a finished request.
func (l *latency) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recent[l.n%len(l.recent)] = d
	l.n++
}

// hedgeAfter returns the time after which a request is sent again: twice the 99th percentile of
// the recent requests. It returns false while too few are known.
func (l *latency) hedgeAfter() (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n < 16 {
		return 0, false
	}
	if l.p99 == 0 || l.n-l.changed >= 16 {
		s := slices.Clone(l.recent[:min(l.n, len(l.recent))])
		slices.Sort(s)
		l.p99, l.changed = s[(len(s)*99-1)/100], l.n
	}
	return 2 * l.p99, true
}

// mayHedge counts a second request, unless one of 20 was already sent twice: when the whole store
// is slow, more requests make it slower.
func (l *latency) mayHedge() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hedges*20 > l.n {
		return false
	}
	l.hedges++
	return true
}
