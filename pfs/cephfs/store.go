//go:build ceph

package cephfs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/sync/semaphore"
)

const (
	// maxCalls is the number of concurrent operations. Each takes a thread.
	maxCalls = 256
	// maxAbandoned is the number of abandoned operations without an answer for the timeout that one
	// mount may have. With more the mount is given up, which ends them.
	maxAbandoned = 32
	// maxGivenUp is the number of mounts that were given up and are not released yet. With so many,
	// no new mount is made.
	maxGivenUp = 4
)

// store is the current mount, and the means to make the next one.
type store struct {
	opts    Options
	calls   *semaphore.Weighted // of maxCalls
	moving  *semaphore.Weighted // of maxMoving
	behind  *semaphore.Weighted // of maxBehind
	ahead   *semaphore.Weighted // of maxAhead
	copying *semaphore.Weighted // of maxCopying
	root    *user

	abandoned abandonedChanges

	mu      sync.Mutex
	served  bool // there was a mount before
	cur     *mount
	dialing *dialing // the next mount, while it is being made
	givenUp int      // mounts that are not released yet
	closed  bool
	ending  sync.WaitGroup
}

// dialing is a mount that is being made. Many operations may wait for it.
type dialing struct {
	done chan struct{}
	m    *mount
	err  error
}

func open(ctx context.Context, opts Options) (Store, error) {
	s := &store{
		opts:    opts,
		calls:   semaphore.NewWeighted(maxCalls),
		moving:  semaphore.NewWeighted(maxMoving),
		behind:  semaphore.NewWeighted(maxBehind),
		ahead:   semaphore.NewWeighted(maxAhead),
		copying: semaphore.NewWeighted(maxCopying),
		root:    newUser(ids{}),

		abandoned: abandonedChanges{calls: map[*call]bool{}},
	}
	if _, err := s.mounted(ctx); err != nil {
		go s.close() // which waits for a mount that is still being made
		return nil, err
	}
	return FS{store: s}, nil
}

// mounted returns the current mount, or waits for the next one.
func (s *store) mounted(ctx context.Context) (*mount, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, pfs.Closed
	}
	if m := s.cur; m != nil {
		s.mu.Unlock()
		return m, nil
	}
	if s.givenUp >= maxGivenUp {
		s.mu.Unlock()
		return nil, pfs.Errorf(openOp, "", pfs.Unavailable, "%d connections were given up and none of them has ended yet", maxGivenUp)
	}
	d := s.dialing
	if d == nil {
		d = &dialing{done: make(chan struct{})}
		s.dialing = d
		s.ending.Go(func() { s.dial(d) })
	}
	s.mu.Unlock()
	return d.wait(ctx, 2*s.opts.Timeout)
}

// wait returns the mount once it is made.
func (d *dialing) wait(ctx context.Context, timeout time.Duration) (*mount, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-d.done:
		return d.m, d.err
	case <-ctx.Done():
		return nil, timedOut(ctx)
	case <-timer.C:
		return nil, pfs.Errorf(openOp, "", pfs.Unavailable, "the CephFS has not answered for %v: are its MDS and OSDs up, and do their clocks agree (ceph status)?", timeout)
	}
}

// dial makes the next mount.
func (s *store) dial(d *dialing) {
	d.m, d.err = connect(s.opts)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialing = nil
	switch {
	case d.err != nil:
		s.opts.Logger.Warn("CephFS cannot be mounted", "error", d.err)
		if s.served {
			d.err = away(d.err)
		}
	case s.closed:
		d.m.kill()
		d.m.abort()
		d.m, d.err = nil, pfs.Closed
	default:
		s.cur, s.served = d.m, true
		s.opts.Logger.Info("CephFS is mounted", "monitors", s.opts.Monitors, "filesystem", s.opts.FileSystem, "root", s.opts.Root)
	}
	close(d.done)
}

// away returns the error of a store that was mounted once and cannot be mounted again. It is always
// Unavailable: Permission or Invalid would seem to concern the user's file, and a user can repair
// neither the key nor the options of the service. It keeps only the text of the cause, so that
// errors.Is does not find those Kinds.
func away(err error) error {
	if known := (*pfs.Error)(nil); errors.As(err, &known) {
		if known.Kind == pfs.Unavailable {
			return err
		}
		err = known.Err
	}
	return pfs.Errorf(openOp, "", pfs.Unavailable, "the CephFS cannot be mounted again: %v", err)
}

// giveUp ends the use of m for the reason why. The next operation makes another mount.
func (s *store) giveUp(m *mount, why error) {
	if !m.kill() {
		return
	}
	s.opts.Logger.Warn("the connection to CephFS was given up", "error", why)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cur == m {
		s.cur = nil
	}
	s.givenUp++
	s.ending.Go(func() {
		m.abort()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.givenUp--
	})
}

// close closes the store. Running calls have the timeout to end. If the cluster does not release
// the mount within two timeouts, close returns an error and leaves it.
func (s *store) close() error {
	s.mu.Lock()
	m := s.cur
	s.cur, s.closed = nil, true
	s.mu.Unlock()
	if m != nil && m.kill() {
		s.ending.Go(func() { m.end(s.opts.Timeout) })
	}
	ended := make(chan struct{})
	go func() {
		s.ending.Wait()
		close(ended)
	}()
	timer := time.NewTimer(2 * s.opts.Timeout)
	defer timer.Stop()
	select {
	case <-ended:
		return nil
	case <-timer.C:
		return pfs.Errorf("cephfs.Close", "", pfs.Unavailable, "the cluster does not release the connection")
	}
}
