package main

import (
	"sync"
	"time"
)

const (
	// patience is how long cat, and a command that moves no data, asks again for what
	// fails for the moment, unless it is told how often.
	patience = 30 * time.Second

	// tellAfter is how long an operation has to fail before the user is told what the
	// command waits for, and tellEvery how often that is told at most.
	tellAfter, tellEvery = 2 * time.Second, 10 * time.Second
)

// waiting tells what a command waits for.
type waiting struct {
	d     *deps
	quiet bool // what passes is not told

	mu   sync.Mutex
	told time.Time // at last
}

// retry is told of an operation that is tried again, how long after it first failed, and
// why it did now.
func (w *waiting) retry(waited time.Duration, err error) {
	if w.quiet || waited < tellAfter {
		return
	}
	w.mu.Lock()
	now := w.d.now()
	due := now.Sub(w.told) >= tellEvery
	if due {
		w.told = now
	}
	w.mu.Unlock()
	if due {
		w.d.out.Message("waiting, and trying again: %v", err)
	}
}
