package auth

import (
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// clock is a time that only tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// wantKind fails the test unless err is of the Kind.
func wantKind(t *testing.T, err error, want pfs.Kind) {
	t.Helper()
	if err == nil || pfs.KindOf(err) != want {
		t.Fatalf("got error %v, want one of Kind %v", err, want)
	}
}
