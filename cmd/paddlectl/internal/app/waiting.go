package app

import (
	"sync"
	"time"
)

const (
	// patience is how long a command retries in vain what fails for the moment, however
	// many files it works on, unless --retries is given.
	patience = time.Minute
	// InPatience is a number of retries that only the patience bounds.
	InPatience = 1 << 20

	// tellAfter is how long an operation has to fail before the user is told what the
	// command waits for, and tellEvery how often that is told at most.
	tellAfter, tellEvery = 2 * time.Second, 10 * time.Second
)

// Patience bounds the time that so many retries take; 0 is no bound.
func (a *App) Patience(retries int) time.Duration {
	switch {
	case retries != InPatience:
		return 0
	case a.Main.Patience > 0:
		return a.Main.Patience
	}
	return patience
}

// waiting tells what a command waits for.
type waiting struct {
	a     *App
	quiet bool // what passes is not told

	mu   sync.Mutex
	told time.Time // at last
}

// Retry is told of an operation that is tried again, how long after it first failed, and
// why it did now.
func (w *waiting) Retry(waited time.Duration, err error) {
	if w.quiet || waited < tellAfter {
		return
	}
	w.mu.Lock()
	now := w.a.Now()
	due := now.Sub(w.told) >= tellEvery
	if due {
		w.told = now
	}
	w.mu.Unlock()
	if due {
		w.a.Message("waiting, and trying again: %v", err)
	}
}
