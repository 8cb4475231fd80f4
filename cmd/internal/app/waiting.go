package app

import (
	"cmp"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs/retry"
)

const (
	// An operation must fail for tellAfter before a message reports the retries; tellEvery is the
	// shortest time between two such messages.
	tellAfter, tellEvery = 2 * time.Second, 10 * time.Second
)

// budget returns the budget for retries of temporary failures, unless --retries is given. It is
// the same for all commands, however many files they process.
func (a *App) budget() *retry.Budget {
	return retry.New(retry.Policy{Total: cmp.Or(a.Main.Patience, retry.Default.Total)}, a.Waiting.Retry)
}

// waiting reports retries to the user.
type waiting struct {
	a     *App
	quiet bool // no messages about temporary failures

	mu   sync.Mutex
	told time.Time // of the last message
}

// Retry reports that an operation is retried because of err, waited after its first failure.
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
