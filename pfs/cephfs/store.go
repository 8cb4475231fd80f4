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
	// maxCalls is the number of operations on their way at once. Each takes a thread.
	maxCalls = 256
	// maxAbandoned is the number of operations of one mount that may go on with nobody waiting
	// for them. With more the mount is given up, which ends them.
	maxAbandoned = 32
	// maxGivenUp is the number of mounts that were given up and still have not let go of their
	// threads. With more there is no new one.
	maxGivenUp = 4
)

// store is the mount that serves now, and what it takes to make the next one.
type store struct {
	opts       Options
	calls      *semaphore.Weighted // of maxCalls
	moving     *semaphore.Weighted // of maxMoving
	background *semaphore.Weighted // of maxBackground
	ahead      *semaphore.Weighted // of maxAhead
	copying    *semaphore.Weighted // of maxCopying
	root       *who

	abandoned abandonedChanges

	mu      sync.Mutex
	served  bool // a mount has been there
	cur     *mount
	dialing *dialing // the next mount, if it is on its way
	givenUp int      // mounts that are not released yet
	closed  bool
	ending  sync.WaitGroup
}

// dialing is the making of a mount, for which any number of operations wait.
type dialing struct {
	done chan struct{}
	m    *mount
	err  error
}

func open(ctx context.Context, opts Options) (Store, error) {
	s := &store{
		opts:       opts,
		calls:      semaphore.NewWeighted(maxCalls),
		moving:     semaphore.NewWeighted(maxMoving),
		background: semaphore.NewWeighted(maxBackground),
		ahead:      semaphore.NewWeighted(maxAhead),
		copying:    semaphore.NewWeighted(maxCopying),
		root:       newWho(ids{}),

		abandoned: abandonedChanges{calls: map[*call]bool{}},
	}
	if _, err := s.mounted(ctx); err != nil {
		go s.close() // which waits for a mount that is still on its way
		return nil, err
	}
	return FS{store: s}, nil
}

// mounted returns the mount that serves now, or waits for the next one.
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

// away is the error of a store that has served and cannot be mounted again. Whoever makes calls can mend neither
// the service's key nor its options: Permission or Invalid would seem to be about the file that was asked for.
// Of the cause only the text is kept, so that nothing finds those Kinds in it.
func away(err error) error {
	if known := (*pfs.Error)(nil); errors.As(err, &known) {
		if known.Kind == pfs.Unavailable {
			return err
		}
		err = known.Err
	}
	return pfs.Errorf(openOp, "", pfs.Unavailable, "the CephFS cannot be mounted again: %v", err)
}

// giveUp ends the use of m because of why; the next operation makes another mount.
func (s *store) giveUp(m *mount, why error) {
	if !m.kill() {
		return
	}
	s.opts.Logger.Warn("the connection to CephFS is given up", "error", why)
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

// close ends the use of the store. Calls that are on their way get the timeout to end by themselves;
// what a dead cluster keeps from ending is left behind.
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
		return pfs.Errorf("cephfs.Close", "", pfs.Unavailable, "the cluster does not let go of its connection")
	}
}
