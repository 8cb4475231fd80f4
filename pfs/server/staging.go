package server

import (
	"context"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/sync/semaphore"
)

// staging is the state that all handles of one upload share. Several handles exist where several
// names lead to the upload (a home and its old spelling, a link).
type staging struct {
	identity any // nil if the store does not identify uploads

	// Requests that write hold use with weight 1. A commit or discard holds it
	// exclusively, so that nothing changes between the check of the digest and the
	// rename. It is taken before the lock of a chunk.
	use  *semaphore.Weighted
	over bool // committed or discarded; guarded by use

	mu     sync.Mutex
	chunks map[int64]*chunk // by leaf number
}

// exclusive is the weight that excludes all other requests from a staging.
const exclusive = 1 << 30

func newStaging(identity any) *staging {
	return &staging{identity: identity, use: semaphore.NewWeighted(exclusive), chunks: map[int64]*chunk{}}
}

// chunk is one leaf of an upload. Its lock keeps two requests from writing it at the same
// time: after a connection broke, its request may still be in progress when the repeated
// one arrives, and must not overwrite bytes that the repeated one has verified.
type chunk struct {
	lock chan struct{} // holds one token while a request has the chunk
	wait int           // requests that have it or wait for it; guarded by staging.mu

	// The verified bytes. The store may not have them yet, and only the handle that
	// wrote them learns if the store loses them. So each handle trusts only its own.
	by     *upload
	size   int // 0 if the bytes are not to be trusted
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

// unwait removes a chunk that no request uses and that has no verified bytes, so that
// requests without bytes, or that the store refuses, do not fill the memory.
func (s *staging) unwait(n int64, c *chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.wait--; c.wait == 0 && c.size == 0 && s.chunks[n] == c {
		delete(s.chunks, n)
	}
}

// distrust forgets the verified bytes, so that digests are computed from the store from now on.
// The caller holds use exclusively, so that no request is writing a chunk.
func (s *staging) distrust() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.chunks)
}
