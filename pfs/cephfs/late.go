//go:build ceph

package cephfs

import (
	"context"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// late counts the abandoned calls of a staged write, which may still write what they were given.
type late struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed once there are none; nil if there are none
}

// add counts n more calls. One that ends at the moment it is abandoned may be counted out first.
func (l *late) add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n += n
	switch {
	case l.n > 0 && l.none == nil:
		l.none = make(chan struct{})
	case l.n <= 0 && l.none != nil:
		close(l.none)
		l.none = nil
	}
}

// wait returns once there are none.
func (l *late) wait(ctx context.Context, timeout time.Duration) error {
	l.mu.Lock()
	none := l.none
	l.mu.Unlock()
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
