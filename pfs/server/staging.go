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

// chunk is one leaf of an upload. Its lock keeps two requests from writing it at the
// same time: when a connection broke, its request may still be at work while the
// repeated one arrives, and must not write over bytes that this one has verified.
type chunk struct {
	lock   chan struct{} // holds one token while a request has the chunk
	size   int           // bytes verified; 0 if they are not to be trusted
	digest pfs.LeafDigest
}

// take waits for the chunk, or for ctx.
func (c *chunk) take(ctx context.Context, name pfs.Path) error {
	select {
	case c.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return pfs.CheckContext(ctx, "server.chunk", name)
	}
}

func (c *chunk) release() { <-c.lock }

// chunk returns the leaf number n, making it if needed.
func (s *staging) chunk(n int64) *chunk {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chunks[n]
	if c == nil {
		c = &chunk{lock: make(chan struct{}, 1)}
		s.chunks[n] = c
	}
	return c
}

// distrust forgets what arrived: the store is asked from now on. The caller uses the
// staging exclusively, so that nobody holds one of the chunks to write it.
func (s *staging) distrust() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.chunks)
}
