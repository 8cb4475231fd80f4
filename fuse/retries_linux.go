package fuse

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// retryTime is how long a replacement of a file waits for opens that the kernel repeats. On a busy machine, a program may get no
// processor for most of it.
const retryTime = 2 * time.Second

// retries are the opens that were answered with ESTALE because the file was just replaced. The kernel looks the name up and
// opens it again, but only once. So that this succeeds, the lookup waits for a replacement that has begun, and the next
// replacement waits for the open.
type retries struct {
	n  atomic.Int64 // of threads
	mu sync.Mutex
	// threads has a channel for each thread that repeats an open. It is closed when the thread has done that.
	threads map[uint32]chan struct{}
}

// begin notes that an open of thread is answered with ESTALE. The kernel does not repeat an open that was already repeated.
func (r *retries) begin(thread uint32) {
	if r.end(thread) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.threads == nil {
		r.threads = map[uint32]chan struct{}{}
	}
	done := make(chan struct{})
	r.threads[thread] = done
	r.n.Add(1)
	time.AfterFunc(retryTime, func() { // the program may be gone
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.threads[thread] == done {
			r.remove(thread)
		}
	})
}

// has reports whether thread repeats an open.
func (r *retries) has(thread uint32) bool {
	if r.n.Load() == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.threads[thread] != nil
}

// end notes that thread has repeated its open, or found that the name is gone. It returns false if there was nothing to repeat.
func (r *retries) end(thread uint32) bool {
	if !r.has(thread) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.threads[thread] != nil {
		r.remove(thread)
	}
	return true
}

// remove forgets thread. The caller holds r.mu.
func (r *retries) remove(thread uint32) {
	close(r.threads[thread])
	delete(r.threads, thread)
	r.n.Add(-1)
}

// any returns a channel that is closed when one of the opens has been repeated, or nil if there are none.
func (r *retries) any() <-chan struct{} {
	if r.n.Load() == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, done := range r.threads {
		return done
	}
	return nil
}

// awaitRetries waits until no open is being repeated, but not for much longer than retryTime. The caller holds the lock of the tree.
func (s *server) awaitRetries(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, retryTime)
	defer cancel()
	for done := s.retries.any(); done != nil && s.await(ctx, done); {
		done = s.retries.any()
	}
}

// repeat answers an open of thread with ESTALE.
func (s *server) repeat(thread uint32) {
	s.tree.mu.Lock() // a replacement either waits for this, or its lookup for the replacement
	defer s.tree.mu.Unlock()
	s.retries.begin(thread)
}

// awaitReplaced waits until base in dir is replaced if thread repeats an open and a replacement has begun.
func (s *server) awaitReplaced(ctx context.Context, thread uint32, dir *node, base string) {
	if !s.retries.has(thread) {
		return
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	for n := s.tree.child(dir, base); n != nil && n.extra != nil && n.extra.going != nil; n = s.tree.child(dir, base) {
		if !s.await(ctx, n.extra.going) {
			return
		}
	}
}
