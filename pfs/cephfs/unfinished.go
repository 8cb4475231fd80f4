//go:build ceph

package cephfs

import (
	"context"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// unfinished are the changes that were abandoned and may still be done: the one call of libcephfs that each
// was in is on its way to the cluster. Whoever asks for the same again, or for another change of the same
// names, must not be overtaken by them, and waits.
type unfinished struct {
	mu    sync.Mutex
	calls map[*call]bool
}

// add takes in a call that was abandoned, unless it has ended by now.
func (u *unfinished) add(c *call) {
	u.mu.Lock()
	defer u.mu.Unlock()
	select {
	case <-c.over:
	default:
		u.calls[c] = true
	}
}

// end lets go of a call, which has ended.
func (u *unfinished) end(c *call) {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(c.over)
	delete(u.calls, c)
}

// before returns a call over m that changes one of the names, or what is below or above one; nil if there
// is none. What was on its way over another mount is not done any more once m is there (see reclaim).
func (u *unfinished) before(m *mount, names []pfs.Path) *call {
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := range u.calls {
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

// wait returns once no abandoned change over m of these names is on its way. When that takes the timeout the
// mount is given up, which ends them.
func (s *store) wait(ctx context.Context, m *mount, names []pfs.Path) error {
	timer := time.NewTimer(s.opts.Timeout)
	defer timer.Stop()
	for c := s.unfinished.before(m, names); c != nil; c = s.unfinished.before(m, names) {
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
