package server

import (
	"context"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	// remembered is how long the outcome of a call is kept under its request ID.
	remembered = 10 * time.Minute
	// mostRemembered bounds the outcomes kept; the oldest go first.
	mostRemembered = 4096
)

// once remembers the outcomes of recent calls that must not be done twice, so that a
// client whose connection was cut can ask again.
type once struct {
	mu    sync.Mutex
	calls map[string]*onceCall
	order []string // keys by age
}

type onceCall struct {
	began   time.Time
	done    chan struct{}
	outcome outcome
}

func newOnce() *once { return &once{calls: map[string]*onceCall{}} }

// do runs call, or waits for and returns the outcome of the call that came first
// under the same key. A call that failed for want of a client or a store is not
// remembered: it may be tried again.
func (o *once) do(ctx context.Context, key string, call func() outcome) outcome {
	o.mu.Lock()
	if c, ok := o.calls[key]; ok {
		o.mu.Unlock()
		select {
		case <-c.done:
			return c.outcome
		case <-ctx.Done():
			return outcome{err: pfs.CheckContext(ctx, "server.once", "")}
		}
	}
	c := &onceCall{began: time.Now(), done: make(chan struct{})}
	o.calls[key] = c
	o.order = append(o.order, key)
	o.forget()
	o.mu.Unlock()

	c.outcome = outcome{err: pfs.Errorf("server.once", "", pfs.Other, "the call failed")}
	defer func() {
		close(c.done)
		if err := c.outcome.err; err != nil {
			if k := pfs.KindOf(err); k.Temporary() || k == pfs.Canceled || k == pfs.Other {
				o.mu.Lock()
				delete(o.calls, key)
				o.mu.Unlock()
			}
		}
	}()
	c.outcome = call()
	return c.outcome
}

// forget drops what is too old or too much. o.mu is held.
func (o *once) forget() {
	for len(o.order) > 0 {
		c, ok := o.calls[o.order[0]]
		if ok && len(o.order) <= mostRemembered && time.Since(c.began) < remembered {
			return
		}
		delete(o.calls, o.order[0])
		o.order = o.order[1:]
	}
}
