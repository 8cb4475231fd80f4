package cachefs

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// priority orders requests to the store.
type priority int

const (
	demand     priority = iota // a reader waits
	prefetch                   // a reader will probably want it soon
	background                 // completes files
	priorities
)

// queue grants requests by priority, within a number of requests and a number of bytes.
type queue struct {
	most int // requests at a time

	mu      sync.Mutex
	running int
	memory  int64 // bytes that are left
	waiting [priorities]list.List
	kept    list.List // tickets, the oldest first
}

// ticket is the right to run one request, once granted is closed.
type ticket struct {
	bytes   int64
	granted chan struct{}
	prio    priority      // guarded by queue.mu
	elem    *list.Element // nil once granted; guarded by queue.mu
	idle    bool          // answered: only its memory is in use; guarded by queue.mu

	kept *list.Element // of queue.kept; nil unless the block stays in memory; guarded by queue.mu
	till time.Time     // when others than demand may take that memory
	free func()
}

func newQueue(requests int, memory int64) *queue { return &queue{most: requests, memory: memory} }

// limit is how many requests may run when one of priority p starts. Some are reserved for demand, so
// that a reader does not wait for requests that no reader needs yet.
func (q *queue) limit(p priority) int {
	switch p {
	case demand:
		return q.most
	case prefetch:
		return max(1, q.most-q.most/8)
	}
	return max(1, q.most/2)
}

// enter queues a request that needs that much memory.
func (q *queue) enter(p priority, bytes int64) *ticket {
	t := &ticket{bytes: bytes, granted: make(chan struct{}), prio: p}
	q.mu.Lock()
	defer q.mu.Unlock()
	t.elem = q.waiting[p].PushBack(t)
	q.grant()
	return t
}

// try is enter that returns nil instead of waiting.
func (q *queue) try(bytes int64) *ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running >= q.most || !q.space(bytes, demand) {
		return nil
	}
	q.running++
	q.memory -= bytes
	return &ticket{bytes: bytes}
}

// wait returns when t is granted, or ctx's error; then the ticket is void.
func (q *queue) wait(ctx context.Context, t *ticket) error {
	select {
	case <-t.granted:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	if t.elem != nil {
		q.waiting[t.prio].Remove(t.elem)
		t.elem = nil
		q.mu.Unlock()
		return ctx.Err()
	}
	q.mu.Unlock()
	q.leave(t)
	return ctx.Err()
}

// leave ends the request of t.
func (q *queue) leave(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !t.idle {
		q.running--
	}
	q.memory += t.bytes
	q.grant()
}

// answered lets another request begin while the memory of t is still in use.
func (q *queue) answered(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t.idle = true
	q.running--
	q.grant()
}

// keptFor is how long a block that was read ahead stays in memory for its reader although other read-ahead needs the memory.
const keptFor = time.Second

// keep leaves the memory of an answered request in use until unkeep, or until a request needs it. The queue then calls
// free, which must not use the queue.
func (q *queue) keep(t *ticket, free func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t.free, t.till = free, time.Now().Add(keptFor)
	t.kept = q.kept.PushBack(t)
	q.grant()
}

// unkeep undoes keep, unless the memory was taken.
func (q *queue) unkeep(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.kept != nil {
		q.drop(t)
		q.grant()
	}
}

// drop takes the memory of a kept block. The caller holds q.mu.
func (q *queue) drop(t *ticket) {
	q.kept.Remove(t.kept)
	t.kept = nil
	t.free()
	q.memory += t.bytes
}

// space reports whether a request of priority p finds that much memory. If necessary it takes memory from kept blocks; demand
// takes it from the blocks that will probably be read last. The caller holds q.mu.
func (q *queue) space(bytes int64, p priority) bool {
	for q.memory < bytes && q.kept.Len() > 0 {
		last := q.kept.Back()
		if p != demand {
			if last = q.kept.Front(); time.Now().Before(last.Value.(*ticket).till) {
				break
			}
		}
		q.drop(last.Value.(*ticket))
	}
	return q.memory >= bytes
}

// raise gives a waiting request a higher priority.
func (q *queue) raise(t *ticket, p priority) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.elem == nil || t.prio <= p {
		return
	}
	q.waiting[t.prio].Remove(t.elem)
	t.prio, t.elem = p, q.waiting[p].PushBack(t)
	q.grant()
}

// grant starts the requests that may run. The first request without room stops all after it, so
// that a large request does not starve.
func (q *queue) grant() {
	for p := range priorities {
		for e := q.waiting[p].Front(); e != nil; e = q.waiting[p].Front() {
			t := e.Value.(*ticket)
			if q.running >= q.limit(p) || !q.space(t.bytes, p) {
				return
			}
			q.waiting[p].Remove(e)
			t.elem = nil
			q.running++
			q.memory -= t.bytes
			close(t.granted)
		}
	}
}
