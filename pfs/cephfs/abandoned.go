//go:build ceph

package cephfs

import (
	"context"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// abandonedChanges holds the abandoned changes that may still be done, because their calls of
// libcephfs have not returned. A new change of the same names waits for them, so that an older
// change does not undo it.
type abandonedChanges struct {
	mu    sync.Mutex
	calls map[*call]bool
}

// add records an abandoned call, unless it has ended by now.
func (a *abandonedChanges) add(c *call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-c.over:
	default:
		a.calls[c] = true
	}
}

// end removes a call that has ended.
func (a *abandonedChanges) end(c *call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(c.over)
	delete(a.calls, c)
}

// conflicting returns a call over the mount m that changes one of the names, or something below or
// above one, or nil. Calls over other mounts do not count: the cluster has dropped them before m
// existed (see reclaim).
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

// overlap reports whether a name of one equals, contains or is below a name of the other.
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

// awaitAbandoned waits until no abandoned change of these names is in progress over m. After the
// timeout it gives the mount up, which ends those changes.
func (s *store) awaitAbandoned(ctx context.Context, m *mount, names []pfs.Path) error {
	timer := time.NewTimer(s.opts.Timeout)
	defer timer.Stop()
	for c := s.abandoned.conflicting(m, names); c != nil; c = s.abandoned.conflicting(m, names) {
		select {
		case <-c.over:
		case <-ctx.Done():
			return timedOut(ctx)
		case <-timer.C:
			err := pfs.Errorf("cephfs.wait", "", pfs.Unavailable, "an abandoned change of %s has been on its way to the cluster for %v", c.names[0], s.opts.Timeout)
			s.giveUp(m, err)
			return err
		}
	}
	return nil
}

// abandonedWrites counts the abandoned calls of one upload that may still write their bytes.
type abandonedWrites struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed once there are none; nil if there are none
}

// add counts n more calls. A call may be subtracted before it is added, if it ends while it is
// abandoned.
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

// wait waits until there are none.
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
		return pfs.Errorf("cephfs.Staged", "", pfs.Unavailable, "an abandoned call is still on its way to the cluster")
	}
}
