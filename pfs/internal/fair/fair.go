// Package fair gives out a limited number of places in fair turns.
package fair

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Claim names a claimant of a place, such as a user or an address.
type Claim struct {
	Key   string
	Share int // the most places that it may hold at a time; 0 for no bound
}

// Queue gives out places by start-time fair queuing. Waiting claimants get places in turn,
// however many each of them asks for. A claimant with few recent requests comes before one
// with many. A request with several claims waits for the slowest of them.
type Queue struct {
	places int

	mu      sync.Mutex
	taken   int
	clock   uint64             // tag of the place that was given out last
	members map[string]*member // who has, waits for, or lately had places
	sweepAt int                // number of members at which idle ones are removed
	waiting []*waiter          // by tag, and of one tag in the order of arrival
}

// member is what a Queue knows of a claimant; guarded by Queue.mu.
type member struct {
	next uint64 // the least tag of its next place
	held int
	uses int // places that it holds or waits for
}

// waiter asks for a place.
type waiter struct {
	tag     uint64
	claims  []Claim
	members []*member
	given   chan struct{} // closed when it has the place
}

// New returns a Queue with a number of places, at least one.
func New(places int) *Queue {
	return &Queue{places: max(1, places), members: map[string]*member{}}
}

// Full is the error of a wait that ended before there was a place.
type Full struct {
	Claim int // the number of the claim that has all of its share, -1 if all places are taken
}

func (*Full) Error() string { return "no place is free" }

// Take waits for a place until ctx is done: then the error is a *Full. The caller calls
// release when it needs the place no more; further calls do nothing.
func (q *Queue) Take(ctx context.Context, claims ...Claim) (release func(), err error) {
	w := q.ask(claims)
	select {
	case <-w.given:
		return sync.OnceFunc(func() { q.release(w) }), nil
	case <-ctx.Done():
		return nil, q.leave(w)
	}
}

// TakeFor is Take of a place that is passed on after a time, even if the caller still uses
// it: a caller that takes longer is likely to wait for something else.
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

// Taken returns the number of places in use.
func (q *Queue) Taken() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken
}

// Waiting returns the number of requests that wait for a place.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// ask queues a request and gives out free places.
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

// give gives out free places. q.mu is held.
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

// full returns the number of the first claim of w that has all of its share, -1 if none
// has. Queue.mu is held.
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

// leave ends a wait, and returns why it was in vain.
func (q *Queue) leave(w *waiter) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, w)
	if i < 0 { // it was given a place meanwhile
		q.giveBack(w)
		return &Full{-1}
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	full := w.full()
	q.drop(w)
	return &Full{full}
}

// drop ends the use of w's members, and removes idle members that no longer affect the
// order. q.mu is held.
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
