package server

import (
	"context"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/sync/semaphore"
)

// staging is what the uploads of one staged write have in common: several, where it is
// reached by several names (a home and its old spelling, a link).
type staging struct {
	identity any // nil if the store does not tell staged writes apart

	// use is held, with weight 1, by requests that write, and exclusively by what
	// ends the staged write: between the check of the digest and the rename nothing
	// changes. It is taken before the lock of a chunk.
	use  *semaphore.Weighted
	over bool // committed or discarded; guarded by use

	mu     sync.Mutex
	chunks map[int64]*chunk // by leaf number
}

// exclusive is the weight with which a request is the only one to use a staging.
const exclusive = 1 << 30

func newStaging(identity any) *staging {
	return &staging{identity: identity, use: semaphore.NewWeighted(exclusive), chunks: map[int64]*chunk{}}
}

// chunk is one leaf of a staged write. Its lock keeps two requests from writing it at the
// same time: when a connection broke, its request may still be at work while the
// repeated one arrives, and must not write over bytes that this one has verified.
type chunk struct {
	lock chan struct{} // holds one token while a request has the chunk
	wait int           // requests that have it or wait for it; guarded by staging.mu

	// Of the bytes verified. The store may not have yet what a handle took, and only that
	// handle learns if it never will: so each handle trusts its own alone.
	by     *upload
	size   int // 0 if they are not to be trusted
	digest pfs.LeafDigest
}

// take waits for the leaf number n, or for ctx. The caller calls leave once.
func (s *staging) take(ctx context.Context, name pfs.Path, n int64) (*chunk, error) {
	s.mu.Lock()
	c := s.chunks[n]
	if c == nil {
		c = &chunk{lock: make(chan struct{}, 1)}
		s.chunks[n] = c
	}
	c.wait++
	s.mu.Unlock()
	select {
	case c.lock <- struct{}{}:
		return c, nil
	case <-ctx.Done():
		s.unwait(n, c)
		return nil, pfs.CheckContext(ctx, "server.chunk", name)
	}
}

// leave gives back the leaf number n.
func (s *staging) leave(n int64, c *chunk) {
	<-c.lock
	s.unwait(n, c)
}

// unwait forgets a chunk that nobody uses and of which nothing is known: requests that
// bring no bytes, or that the store refuses, must not fill the memory.
func (s *staging) unwait(n int64, c *chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.wait--; c.wait == 0 && c.size == 0 && s.chunks[n] == c {
		delete(s.chunks, n)
	}
}

// distrust forgets what arrived: the store is asked from now on. The caller uses the
// staging exclusively, so that nobody holds one of the chunks to write it.
func (s *staging) distrust() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.chunks)
}
