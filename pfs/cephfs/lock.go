//go:build ceph

package cephfs

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Whoever writes to a staged write holds the lock of its temporary together with others, and who
// publishes or discards it holds it alone: so nobody writes to what is published, in this process
// or another. A lock costs a question to the MDS, so the shared one is kept for a while after a
// write, for the next one.

const (
	// lockLinger is how long the shared lock is kept after the last write: at most so long does
	// a Commit elsewhere wait for it.
	lockLinger = 500 * time.Millisecond
	// lockPoll is the time between two questions for a lock that another has.
	lockPoll = 10 * time.Millisecond
)

// shared is the shared lock of one staged write.
type shared struct {
	mu    sync.Mutex
	users int
	h     *handle     // that the lock is held by; nil if it is not
	later *time.Timer // gives the lock back, and holds kept until then
	kept  *handle
}

// acquire takes the lock, or finds it taken, for one user more. live is asked once the lock is taken: as
// long as it is held nobody publishes or discards the temporary.
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

// release lets one user go. The lock itself lingers.
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

// giveBack ends the lock if nobody has used it since.
func (s *shared) giveBack(c *call, h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer h.drop()
	if s.h == h && s.users == 0 {
		s.h = nil
		_ = h.lock(c, lockNone) // if that fails the lock goes with the file
	}
}

// exclude takes the lock alone. It ends with the handle, or with forget.
func (s *shared) exclude(c *call, h *handle) error {
	s.forget()
	return poll(c, stagedBusy, func() error { return h.lock(c, lockExclusive) })
}

// forget keeps the lock from being given back later, because it ends otherwise.
func (s *shared) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep()
	s.h = nil
}

// keep ends the waiting to give the lock back; s.mu is held.
func (s *shared) keep() {
	if s.later != nil && s.later.Stop() {
		s.kept.drop()
	}
	s.later, s.kept = nil, nil
}

// What another does that has a lock.
const (
	stagedBusy = "another service is writing to what is staged here"
	nameBusy   = "another service is renaming a directory to this name"
)

// poll takes a lock, and asks again while another has it, who is busy with what.
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
