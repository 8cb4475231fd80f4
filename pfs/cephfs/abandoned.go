//go:build ceph

package cephfs

import (
	"context"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// abandonedChanges are the changes that were abandoned and may still be done: each of them is in a call of
// libcephfs that the cluster has not answered. A new change of the same names waits for them, so that it is not
// undone by one that was asked for before it.
type abandonedChanges struct {
	mu    sync.Mutex
	calls map[*call]bool
}

// add takes in a call that was abandoned, unless it has ended by now.
func (a *abandonedChanges) add(c *call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-c.over:
	default:
		a.calls[c] = true
	}
}

// end forgets a call, which has ended.
func (a *abandonedChanges) end(c *call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(c.over)
	delete(a.calls, c)
}

// conflicting returns a call over the mount m that changes one of the names, or something below or above one. It
// returns nil if there is none. Calls over another mount do not count: the cluster has dropped them before m was
// there (see reclaim).
func (a *abandonedChanges) conflicting(m *mount, names []pfs.Path) *call {
	a.mu.Lock()
	defer a.mu.Unlock()
	for c := range a.calls {
		if c.m == m && overlap(c.names, names) {
			return c
		}
	}
	return nil
}

// overlap reports whether a name of one is a name of the other, or is below or above one.
func overlap(one, other []pfs.Path) bool {
	for _, a := range one {
		for _, b := range other {
			if a.Within(b) || b.Within(a) {
				return true
			}
		}
	}
	return false
}

// awaitAbandoned returns once no abandoned change of these names is on its way over m. When that takes longer than
// the timeout the mount is given up, which ends those changes.
func (s *store) awaitAbandoned(ctx context.Context, m *mount, names []pfs.Path) error {
	timer := time.NewTimer(s.opts.Timeout)
	defer timer.Stop()
	for c := s.abandoned.conflicting(m, names); c != nil; c = s.abandoned.conflicting(m, names) {
		select {
		case <-c.over:
		case <-ctx.Done():
			return timedOut(ctx)
		case <-timer.C:
			err := pfs.Errorf("cephfs.wait", "", pfs.Unavailable, "a change of %s that was given up has been on its way to the cluster for %v", c.names[0], s.opts.Timeout)
			s.giveUp(m, err)
			return err
		}
	}
	return nil
}

// abandonedWrites counts the abandoned calls of one staged write, which may still write the bytes that they were
// given.
type abandonedWrites struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed once there are none; nil if there are none
}

// add counts n more calls. A call that ends at the moment it is abandoned may be subtracted before it is added.
func (a *abandonedWrites) add(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n += n
	switch {
	case a.n > 0 && a.none == nil:
		a.none = make(chan struct{})
	case a.n <= 0 && a.none != nil:
		close(a.none)
		a.none = nil
	}
}

// wait returns once there are none.
func (a *abandonedWrites) wait(ctx context.Context, timeout time.Duration) error {
	a.mu.Lock()
	none := a.none
	a.mu.Unlock()
	if none == nil {
		return nil
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return timedOut(ctx)
	case <-timer.C:
		return pfs.Errorf("cephfs.Staged", "", pfs.Unavailable, "a call that was given up is still on its way to the cluster")
	}
}
