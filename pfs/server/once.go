package server

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// What is remembered is bounded in time, number and bytes; the oldest goes first.
const (
	// remembered is how long the outcome of a call is kept under its request ID.
	remembered = 10 * time.Minute
	// maxRemembered bounds the outcomes kept of all users, and ownRemembered those of
	// one, so that no user can push out those of others.
	maxRemembered = 16 << 10
	ownRemembered = 2 << 10
	// maxReply bounds one outcome. A larger one is not kept: the call is done again
	// when it is asked for again.
	maxReply = 48 << 10
	// maxBytes bounds all outcomes kept.
	maxBytes = 16 << 20
	// outcomeOverhead stands for what an outcome takes beside its texts.
	outcomeOverhead = 512
)

// once remembers the outcomes of recent calls that must not be done twice, so that a
// client whose connection was cut can ask again.
type once struct {
	mu    sync.Mutex
	calls map[onceKey]*onceCall
	kept  list.List // of *onceCall, oldest first
	own   map[string]*list.List
	bytes int
}

// onceKey names a call.
type onceKey struct{ user, method, id string }

type onceCall struct {
	key     onceKey
	done    chan struct{}
	outcome outcome // once done is closed
	kept    bool    // the outcome also answers later requests

	// Guarded by once.mu, set when the outcome is kept.
	ended    time.Time
	size     int
	all, own *list.Element
}

func newOnce() *once {
	return &once{calls: map[onceKey]*onceCall{}, own: map[string]*list.List{}}
}

// do runs call, unless a call under the same key was first: then it waits for that and
// returns its outcome. A call that failed because its client left or a store was away
// is not remembered: one of those that waited runs it again.
func (o *once) do(ctx context.Context, key onceKey, call func() outcome) outcome {
	for {
		c, first := o.join(key)
		if first {
			o.run(c, call)
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

// join returns the call of key and whether the caller is to do it.
func (o *once) join(key onceKey) (c *onceCall, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.calls[key]; c != nil {
		return c, false
	}
	c = &onceCall{key: key, done: make(chan struct{})}
	o.calls[key] = c
	return c, true
}

// run does the call.
func (o *once) run(c *onceCall, call func() outcome) {
	c.outcome = outcome{err: pfs.Errorf("server.once", "", pfs.Other, "the call failed")}
	defer func() {
		c.size = c.outcome.size() + outcomeOverhead
		c.kept = !c.outcome.fleeting && c.size <= maxReply && (c.outcome.err == nil || lasting(pfs.KindOf(c.outcome.err)))
		o.mu.Lock()
		defer o.mu.Unlock()
		if c.kept {
			o.keep(c)
		} else {
			delete(o.calls, c.key)
		}
		close(c.done)
	}()
	c.outcome = call()
}

// lasting reports whether a call that failed with k would fail so again.
func lasting(k pfs.Kind) bool {
	return !k.Temporary() && k != pfs.Canceled && k != pfs.Other
}

// keep remembers c and forgets what is too old or too much. o.mu is held.
func (o *once) keep(c *onceCall) {
	own := o.own[c.key.user]
	if own == nil {
		own = list.New()
		o.own[c.key.user] = own
	}
	c.ended, c.all, c.own = time.Now(), o.kept.PushBack(c), own.PushBack(c)
	o.bytes += c.size
	if own.Len() > ownRemembered {
		o.forget(own.Front().Value.(*onceCall))
	}
	for e := o.kept.Front(); e != nil; e = o.kept.Front() {
		oldest := e.Value.(*onceCall)
		if o.kept.Len() <= maxRemembered && o.bytes <= maxBytes && time.Since(oldest.ended) < remembered {
			return
		}
		o.forget(oldest)
	}
}

// forget drops c, which was kept. o.mu is held.
func (o *once) forget(c *onceCall) {
	delete(o.calls, c.key)
	o.kept.Remove(c.all)
	own := o.own[c.key.user]
	own.Remove(c.own)
	if own.Len() == 0 {
		delete(o.own, c.key.user)
	}
	o.bytes -= c.size
}
