//go:build ceph

package cephfs

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// A write to a temporary holds a shared lock of it, a Commit or Close an exclusive one: so nothing
// is written to a published file, by this process or another. Each lock costs a request to the MDS,
// so the shared lock is kept for a while after a write, for the next one.

const (
	// lockLinger is how long the shared lock is kept after the last write, and so the longest time
	// for which it delays a Commit of another service.
	lockLinger = 500 * time.Millisecond
	// lockPoll is the time between two attempts to take a lock that another service has.
	lockPoll = 10 * time.Millisecond
)

// shared is the shared lock of one upload.
type shared struct {
	mu    sync.Mutex
	users int
	h     *handle     // the handle that has the lock, or nil
	later *time.Timer // releases the lock
	kept  *handle     // held for later, until it has run
}

// acquire adds a user of the lock, and takes the lock if necessary. Then it calls live to check
// that the temporary still exists: while the lock is held it is neither published nor discarded.
func (s *shared) acquire(c *call, h *handle, live func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.h != h {
		if err := poll(c, stagedBusy, func() error { return h.lock(c, lockShared) }); err != nil {
			return err
		}
		if err := live(); err != nil {
			_ = h.lock(c.undo(), lockNone)
			return err
		}
		s.h, s.users = h, 0
	}
	s.users++
	s.keep()
	return nil
}

// release removes a user. The lock itself is kept for a while.
func (s *shared) release(c *call, h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.h != h {
		return // the lock of a mount that was lost
	}
	s.users--
	if s.users > 0 {
		return
	}
	s.keep()
	quiet := c.undo()
	h.hold()
	s.kept = h
	s.later = time.AfterFunc(lockLinger, func() { s.giveBack(quiet, h) })
}

// giveBack releases the lock if it was not used meanwhile.
func (s *shared) giveBack(c *call, h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer h.drop()
	if s.h == h && s.users == 0 {
		s.h = nil
		_ = h.lock(c, lockNone) // if that fails the lock ends when the file is closed
	}
}

// exclude replaces the shared lock by the exclusive one, which ends when the handle is closed.
func (s *shared) exclude(c *call, h *handle) error {
	s.forget()
	return poll(c, stagedBusy, func() error { return h.lock(c, lockExclusive) })
}

// forget records that the shared lock has ended, or will end with its handle, so it is not released
// later.
func (s *shared) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep()
	s.h = nil
}

// keep stops the timer that would release the lock. The caller holds s.mu.
func (s *shared) keep() {
	if s.later != nil && s.later.Stop() {
		s.kept.drop()
	}
	s.later, s.kept = nil, nil
}

// The activity of the other service that has the lock, for errors.
const (
	stagedBusy = "another service is writing to this upload"
	nameBusy   = "another service is renaming a directory to this name"
)

// poll takes a lock, and retries while another service has it. busy describes what that service
// does.
func poll(c *call, busy string, lock func() error) error {
	for until := time.Now().Add(c.s.opts.Timeout); ; {
		err := lock()
		if !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EACCES) {
			return err
		}
		if time.Now().After(until) || retry.From(c.ctx).Spent() {
			return pfs.Errorf("cephfs.lock", "", pfs.Unavailable, "%s, or has died while it was: try again in a minute", busy)
		}
		select {
		case <-c.ctx.Done():
		case <-time.After(lockPoll):
		}
	}
}
