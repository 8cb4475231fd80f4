package server

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// The remembered outcomes are bounded in age, number and bytes; the oldest are removed first.
const (
	// remembered is how long the outcome of a call is kept under its request ID.
	remembered = 10 * time.Minute
	// maxRemembered bounds the outcomes of all users and ownRemembered those of one
	// user, so that no user can displace those of others.
	maxRemembered = 16 << 10
	ownRemembered = 2 << 10
	// maxReply bounds one outcome. A larger one is not kept, and a repeated request does
	// the call again.
	maxReply = 48 << 10
	// maxBytes bounds all outcomes kept.
	maxBytes = 16 << 20
	// outcomeOverhead estimates the bytes of an outcome beside its texts.
	outcomeOverhead = 512
)

// dedupCache remembers the outcomes of recent calls that must not be done twice, so that a
// client whose connection was cut can ask again.
type dedupCache struct {
	mu    sync.Mutex
	calls map[dedupKey]*dedupCall
	kept  list.List // of *dedupCall, oldest first
	own   map[string]*list.List
	bytes int
}

// dedupKey names a call.
type dedupKey struct{ user, method, id string }

type dedupCall struct {
	key     dedupKey
	done    chan struct{}
	outcome outcome // once done is closed
	kept    bool    // the outcome also answers later requests

	// Guarded by dedupCache.mu, set when the outcome is kept.
	ended    time.Time
	size     int
	all, own *list.Element
}

func newDedupCache() *dedupCache {
	return &dedupCache{calls: map[dedupKey]*dedupCall{}, own: map[string]*list.List{}}
}

// do runs call, unless a call under the same key came first: then it waits for that one and
// returns its outcome. The outcome of a call that failed because its client left or a store
// was unavailable is not kept: one of the waiting requests runs it again.
func (o *dedupCache) do(ctx context.Context, key dedupKey, call func() outcome) outcome {
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
			return outcome{err: pfs.CheckContext(ctx, "server.dedup", "")}
		}
	}
}

// join returns the call of key and whether the caller is to do it.
func (o *dedupCache) join(key dedupKey) (c *dedupCall, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.calls[key]; c != nil {
		return c, false
	}
	c = &dedupCall{key: key, done: make(chan struct{})}
	o.calls[key] = c
	return c, true
}

// run does the call.
func (o *dedupCache) run(c *dedupCall, call func() outcome) {
	c.outcome = outcome{err: pfs.Errorf("server.dedup", "", pfs.Other, "the call failed")}
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

// lasting reports whether a call that failed with k would fail with k again.
func lasting(k pfs.Kind) bool {
	return !k.Temporary() && k != pfs.Canceled && k != pfs.Other
}

// keep remembers c and removes outcomes beyond the bounds. o.mu is held.
func (o *dedupCache) keep(c *dedupCall) {
	own := o.own[c.key.user]
	if own == nil {
		own = list.New()
		o.own[c.key.user] = own
	}
	c.ended, c.all, c.own = time.Now(), o.kept.PushBack(c), own.PushBack(c)
	o.bytes += c.size
	if own.Len() > ownRemembered {
		o.forget(own.Front().Value.(*dedupCall))
	}
	for e := o.kept.Front(); e != nil; e = o.kept.Front() {
		oldest := e.Value.(*dedupCall)
		if o.kept.Len() <= maxRemembered && o.bytes <= maxBytes && time.Since(oldest.ended) < remembered {
			return
		}
		o.forget(oldest)
	}
}

// forget drops c, which was kept. o.mu is held.
func (o *dedupCache) forget(c *dedupCall) {
	delete(o.calls, c.key)
	o.kept.Remove(c.all)
	own := o.own[c.key.user]
	own.Remove(c.own)
	if own.Len() == 0 {
		delete(o.own, c.key.user)
	}
	o.bytes -= c.size
}
