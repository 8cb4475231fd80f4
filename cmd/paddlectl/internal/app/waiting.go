package app

import (
	"cmp"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs/retry"
)

const (
	// tellAfter is how long an operation has to fail before the user is told what the
	// command waits for, and tellEvery how often that is told at most.
	tellAfter, tellEvery = 2 * time.Second, 10 * time.Second
)

// budget is what a command may spend on temporary failures, unless --retries is given. It is the
// same for all commands, however many files they work on.
func (a *App) budget() *retry.Budget {
	return retry.New(retry.Policy{Total: cmp.Or(a.Main.Patience, retry.Default.Total)}, a.Waiting.Retry)
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
