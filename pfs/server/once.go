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
	order []string // keys of outcomes by age
}

type onceCall struct {
	done    chan struct{}
	outcome outcome   // once done is closed
	kept    bool      // the outcome is for all who ask
	ended   time.Time // zero while the call is at work; guarded by once.mu
}

func newOnce() *once { return &once{calls: map[string]*onceCall{}} }

// do runs call, or waits for and returns the outcome of the call that came first under
// the same key. A call that failed for want of its client or of a store is not
// remembered, and whoever waited for it does it himself.
func (o *once) do(ctx context.Context, key string, call func() outcome) outcome {
	for {
		c, first := o.enter(key)
		if first {
			o.run(key, c, call)
			return c.outcome
		}
		select {
		case <-c.done:
			if c.kept {
				return c.outcome
			}
		case <-ctx.Done():
			return outcome{err: pfs.CheckContext(ctx, "server.once", "")}
		}
	}
}

// enter returns the call of key and whether the caller is to do it.
func (o *once) enter(key string) (c *onceCall, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.calls[key]; c != nil {
		return c, false
	}
	c = &onceCall{done: make(chan struct{})}
	o.calls[key] = c
	return c, true
}

// run does the call.
func (o *once) run(key string, c *onceCall, call func() outcome) {
	c.outcome = outcome{err: pfs.Errorf("server.once", "", pfs.Other, "the call failed")}
	defer func() {
		c.kept = c.outcome.err == nil || lasting(pfs.KindOf(c.outcome.err))
		o.mu.Lock()
		defer o.mu.Unlock()
		if c.kept {
			c.ended = time.Now()
			o.order = append(o.order, key)
			o.forget()
		} else {
			delete(o.calls, key)
		}
		close(c.done)
	}()
	c.outcome = call()
}

// lasting reports whether a call that failed so would fail so again.
func lasting(k pfs.Kind) bool {
	return !k.Temporary() && k != pfs.Canceled && k != pfs.Other
}

// forget drops outcomes that are too old or too many. o.mu is held.
func (o *once) forget() {
	for len(o.order) > mostRemembered || len(o.order) > 0 && time.Since(o.calls[o.order[0]].ended) >= remembered {
		delete(o.calls, o.order[0])
		o.order = o.order[1:]
	}
}
