// Package fair shares a limited number of slots fairly between claimants.
package fair

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Claim names a claimant of a slot, such as a user or an address.
type Claim struct {
	Key   string
	Share int // the most slots that it may hold at a time; 0 for no limit
}

// Queue grants slots by start-time fair queuing. Waiting claimants get slots in turn, however many
// each of them asks for. A claimant with few recent requests comes before one with many. A request
// with several claims waits for the slowest of them.
type Queue struct {
	places int

	mu      sync.Mutex
	taken   int
	clock   uint64             // tag of the slot granted last
	members map[string]*member // claimants that hold, wait for, or recently held slots
	sweepAt int                // number of members at which idle ones are removed
	waiting []*waiter          // by tag; equal tags in order of arrival
}

// member is the state of a claimant; guarded by Queue.mu.
type member struct {
	next uint64 // the smallest tag of its next slot
	held int
	uses int // slots that it holds or waits for
}

// waiter is a request for a slot.
type waiter struct {
	tag     uint64
	claims  []Claim
	members []*member
	given   chan struct{} // closed when it has the slot
}

// New returns a Queue with a number of slots, at least one.
func New(places int) *Queue {
	return &Queue{places: max(1, places), members: map[string]*member{}}
}

// Full is the error of a wait that ended without a slot.
type Full struct {
	Claim int // the index of the claim whose share is exhausted, -1 if all slots are taken
}

func (*Full) Error() string { return "no place is free" }

// Take waits for a slot until ctx is done: then the error is a *Full. The caller calls release when
// it no longer needs the slot; further calls do nothing.
func (q *Queue) Take(ctx context.Context, claims ...Claim) (release func(), err error) {
	w := q.ask(claims)
	select {
	case <-w.given:
		return sync.OnceFunc(func() { q.release(w) }), nil
	case <-ctx.Done():
		return nil, q.leave(w)
	}
}

// TakeFor is Take for a slot that is granted to the next claimant after length, even if the caller
// still uses it: a caller that takes longer is probably waiting for something else.
func (q *Queue) TakeFor(ctx context.Context, length time.Duration, claims ...Claim) (release func(), err error) {
	end, err := q.Take(ctx, claims...)
	if err != nil {
		return nil, err
	}
	timer := time.AfterFunc(length, end)
	return func() {
		timer.Stop()
		end()
	}, nil
}

// Taken returns the number of slots in use.
func (q *Queue) Taken() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken
}

// Waiting returns the number of requests that wait for a slot.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// ask queues a request and grants free slots.
func (q *Queue) ask(claims []Claim) *waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := &waiter{tag: q.clock, claims: claims, members: make([]*member, len(claims)), given: make(chan struct{})}
	for i, c := range claims {
		m := q.members[c.Key]
		if m == nil {
			m = new(member)
			q.members[c.Key] = m
		}
		m.uses++
		w.members[i] = m
		w.tag = max(w.tag, m.next)
	}
	for _, m := range w.members {
		m.next = w.tag + 1
	}
	at, _ := slices.BinarySearchFunc(q.waiting, w.tag+1, func(w *waiter, tag uint64) int {
		if w.tag < tag {
			return -1
		}
		return 1
	})
	q.waiting = slices.Insert(q.waiting, at, w)
	q.give()
	return w
}

// give grants free slots. q.mu is held.
func (q *Queue) give() {
	for i := 0; i < len(q.waiting) && q.taken < q.places; {
		w := q.waiting[i]
		if w.full() >= 0 {
			i++
			continue
		}
		q.waiting = slices.Delete(q.waiting, i, i+1)
		q.taken++
		for _, m := range w.members {
			m.held++
		}
		q.clock = max(q.clock, w.tag)
		close(w.given)
	}
}

// full returns the index of the first claim of w whose share is exhausted, or -1. Queue.mu is held.
func (w *waiter) full() int {
	for i, c := range w.claims {
		if c.Share > 0 && w.members[i].held >= c.Share {
			return i
		}
	}
	return -1
}

func (q *Queue) release(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.giveBack(w)
}

// giveBack is release with q.mu held.
func (q *Queue) giveBack(w *waiter) {
	q.taken--
	for _, m := range w.members {
		m.held--
	}
	q.drop(w)
	q.give()
}

// leave ends a wait, and returns the reason for its failure.
func (q *Queue) leave(w *waiter) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, w)
	if i < 0 { // it was granted a slot meanwhile
		q.giveBack(w)
		return &Full{-1}
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	full := w.full()
	q.drop(w)
	return &Full{full}
}

// drop ends the use of w's members, and removes idle members that no longer affect the order. q.mu
// is held.
func (q *Queue) drop(w *waiter) {
	for _, m := range w.members {
		m.uses--
	}
	idle := q.taken == 0 && len(q.waiting) == 0
	if !idle && len(q.members) < q.sweepAt {
		return
	}
	for key, m := range q.members {
		if m.uses == 0 && (idle || m.next <= q.clock) {
			delete(q.members, key)
		}
	}
	q.sweepAt = 2*len(q.members) + 64
}
