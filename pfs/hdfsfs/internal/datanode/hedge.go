package datanode

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// hedges decides when a slow read is repeated on another replica.
type hedges struct {
	mu      sync.Mutex
	kinds   [2]recent // small reads, large reads
	credits float64   // one hedge costs one; each read earns a part of one
	begun   bool
}

// recent is how long the last reads took.
type recent struct {
	times [64]time.Duration
	count int           // of all that were noted
	p95   time.Duration // of times
}

const (
	// firstWait is the wait before enough reads are known.
	firstWait = 250 * time.Millisecond
	minWait   = 30 * time.Millisecond
	maxWait   = 2 * time.Second

	// earned and maxCredits bound the extra load: one hedge for twenty reads, and eight at once. The last one is kept for a
	// DataNode that does not answer.
	earned     = 0.05
	maxCredits = 8

	// largeRead is where large reads begin, in bytes.
	largeRead = 256 << 10
)

func (h *hedges) kind(n int) *recent {
	if n < largeRead {
		return &h.kinds[0]
	}
	return &h.kinds[1]
}

// wait returns how long a read of n bytes may take before another replica is asked.
func (h *hedges) wait(n int) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.begun {
		h.begun, h.credits = true, maxCredits
	}
	h.credits = min(h.credits+earned, maxCredits)
	r := h.kind(n)
	if r.count < len(r.times) {
		return firstWait
	}
	return min(max(r.p95, minWait), maxWait)
}

// note records how long a read of n bytes took.
func (h *hedges) note(n int, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.kind(n)
	r.times[r.count%len(r.times)] = d
	r.count++
	if r.count%len(r.times) == 0 {
		sorted := r.times
		slices.Sort(sorted[:])
		r.p95 = sorted[len(sorted)*95/100]
	}
}

// allow reports whether a hedge may be made, and charges for it. answered tells whether the DataNode has granted the
// request, so that it is slow and not silent.
func (h *hedges) allow(answered bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.credits < 1 || answered && h.credits < 2 {
		return false
	}
	h.credits--
	return true
}

// errHedged ends a read whose bytes came from another replica.
var errHedged = errors.New("another replica was faster")

// hedge is a read that repeats a slow one.
type hedge struct {
	done chan struct{}
	p    []byte
	n    int
	err  error
}

// readHedged is readAt with a second replica if the first is slow. The first read that has all bytes wins.
func (r *Reader) readHedged(ctx context.Context, p []byte, off int64) (int, error) {
	first, endFirst := context.WithCancelCause(ctx)
	defer endFirst(nil)
	second, endSecond := context.WithCancel(ctx)
	defer endSecond()
	h := &hedge{done: make(chan struct{})}
	timer := time.AfterFunc(r.client.hedges.wait(len(p)), func() {
		defer close(h.done)
		h.err = errHedged
		slow := r.node.Load()
		if slow == nil || !r.client.hedges.allow(r.granted.Load()) {
			return
		}
		h.p = make([]byte, len(p))
		other := r.client.NewReader(r.file)
		other.avoid = *slow
		defer other.Close()
		if h.n, h.err = other.readAt(second, h.p, off); h.err == nil {
			r.client.suspect(*slow)
			endFirst(errHedged)
		}
	})
	begun := time.Now()
	n, err := r.readAt(first, p, off)
	if timer.Stop() {
		if err == nil {
			r.client.hedges.note(len(p), time.Since(begun))
		}
		return n, err
	}
	if err == nil || ctx.Err() != nil {
		return n, err
	}
	<-h.done
	if h.err != nil {
		return n, err
	}
	r.read, r.end = true, off+int64(h.n)
	return copy(p, h.p), nil
}
