package hdfsfs

import (
	"context"
	"sync"
	"time"

	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
)

const (
	// maxIdle is the number of idle sessions kept for each user.
	maxIdle = 16
	// idleTime is how long an idle session is kept. It is short because each renews its leases
	// once a second.
	idleTime = 20 * time.Second
)

// pool keeps the idle sessions of one user.
type pool struct {
	cluster *cluster
	user    string
	rpc     *rpc.Client

	mu     sync.Mutex
	idle   []*session
	closed bool
}

// newPool returns the pool of a user.
func (c *cluster) newPool(user string) *pool {
	o := rpc.Options{Servers: c.nameNodes, User: user, Timeout: c.opts.Timeout}
	if k := c.opts.Kerberos; k != nil {
		o.User = "" // the principal: another name would be impersonated
		o.Service = k.Service
		o.Kerberos = func(ctx context.Context) (*krb.Client, error) {
			if err := c.affirm(ctx, "hdfsfs.dial", pfs.Unavailable); err != nil {
				return nil, err
			}
			return c.kerberos(), nil
		}
	}
	return &pool{cluster: c, user: user, rpc: rpc.New(o)}
}

// get returns a session for the exclusive use of the caller, which puts it back.
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

// take returns the most recently used idle session, or nil.
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

// put returns a session to the pool, or closes it if the pool is full or closed.
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

// close closes the idle sessions. Sessions in use are closed when they are put back.
func (p *pool) close() {
	p.rpc.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, s := range p.idle {
		s.idle.Stop()
		s.close()
	}
	p.idle = nil
}
