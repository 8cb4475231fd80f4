package hdfsfs

import (
	"context"
	"sync"
	"time"
)

const (
	// maxIdle is the number of sessions of one user that are kept for the next call.
	maxIdle = 16
	// idleTime is how long one is kept: each renews its leases once a second.
	idleTime = 20 * time.Second
)

// pool keeps sessions of one user.
type pool struct {
	cluster *cluster
	user    string

	mu     sync.Mutex
	idle   []*session
	closed bool
}

// get returns a session for the caller alone, which puts it back.
func (p *pool) get(ctx context.Context) (*session, error) {
	for {
		s := p.take()
		if s == nil {
			return p.cluster.dial(ctx, p.user)
		}
		if s.usable() {
			return s, nil
		}
		s.close()
	}
}

// take returns the session that was used last.
func (p *pool) take() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	s := p.idle[n-1]
	p.idle = p.idle[:n-1]
	s.idle.Stop()
	return s
}

// put takes a session back, or closes it.
func (p *pool) put(s *session) {
	s.closeData()
	s.collected(nil)
	s.setPipes(nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= maxIdle || !s.usable() {
		s.close()
		return
	}
	s.idle = time.AfterFunc(idleTime, func() { p.expire(s) })
	p.idle = append(p.idle, s)
}

// expire closes s if it is still idle.
func (p *pool) expire(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.idle {
		if other == s {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			s.close()
			return
		}
	}
}

// close closes what is idle; what is in use is closed when it is put back.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, s := range p.idle {
		s.idle.Stop()
		s.close()
	}
	p.idle = nil
}
