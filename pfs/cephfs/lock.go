//go:build ceph

package cephfs

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// A write to a temporary holds a shared lock of it, and a Commit or Close an exclusive one: so nothing is written
// to a file once it is published, by this process or another. Taking a lock costs a question to the MDS, so the
// shared lock is kept for a while after a write, for the next one.

const (
	// lockLinger is how long the shared lock is kept after the last write. A Commit of another service
	// waits for it so long at most.
	lockLinger = 500 * time.Millisecond
	// lockPoll is the time between two tries to take a lock that another service has.
	lockPoll = 10 * time.Millisecond
)

// shared is the shared lock of one staged write.
type shared struct {
	mu    sync.Mutex
	users int
	h     *handle     // the handle that has the lock; nil if none has
	later *time.Timer // gives the lock back
	kept  *handle     // held for later, until it has run
}

// acquire adds a user of the lock, and takes it if it is not taken yet. Then live is asked whether the temporary is
// still there: as long as the lock is held it is neither published nor discarded.
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
		return // of a mount that was lost
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

// giveBack ends the lock if it was not used meanwhile.
func (s *shared) giveBack(c *call, h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer h.drop()
	if s.h == h && s.users == 0 {
		s.h = nil
		_ = h.lock(c, lockNone) // if that fails the lock ends when the file is closed
	}
}

// exclude takes the exclusive lock, in place of the shared one. It ends when the handle is closed.
func (s *shared) exclude(c *call, h *handle) error {
	s.forget()
	return poll(c, stagedBusy, func() error { return h.lock(c, lockExclusive) })
}

// forget says that the shared lock has ended, or will end with its handle: it is not given back later.
func (s *shared) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep()
	s.h = nil
}

// keep stops the timer that would give the lock back; s.mu is held.
func (s *shared) keep() {
	if s.later != nil && s.later.Stop() {
		s.kept.drop()
	}
	s.later, s.kept = nil, nil
}

// What another service that has the lock is doing, for errors.
const (
	stagedBusy = "another service is writing to what is staged here"
	nameBusy   = "another service is renaming a directory to this name"
)

// poll takes a lock, and tries again while another service has it. busy says what that one is doing.
func poll(c *call, busy string, lock func() error) error {
	for until := time.Now().Add(c.s.opts.Timeout); ; {
		err := lock()
		if !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EACCES) {
			return err
		}
		if time.Now().After(until) {
			return pfs.Errorf("cephfs.lock", "", pfs.Unavailable, "%s, or has died while it was: try again in a minute", busy)
		}
		select {
		case <-c.ctx.Done():
		case <-time.After(lockPoll):
		}
	}
}
