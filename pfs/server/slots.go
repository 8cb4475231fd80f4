package server

import (
	"context"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// waitForSlot is how long a request waits for its turn before it is turned away.
const waitForSlot = 10 * time.Second

// slots bounds the requests at work: all of them together, and those of one holder (a
// user, or an address) to a share, so that nobody can have them all.
type slots struct {
	all   chan struct{}
	share int

	mu      sync.Mutex
	holders map[string]*holder
}

// holder has, or waits for, slots.
type holder struct {
	own  chan struct{} // as long as the share
	uses int           // requests that have or want a slot; guarded by slots.mu
}

func newSlots(n, share int) *slots {
	return &slots{all: make(chan struct{}, n), share: max(1, share), holders: map[string]*holder{}}
}

// acquire waits for a slot for the holder called name. The caller calls release once.
func (s *slots) acquire(ctx context.Context, name string) (release func(), err error) {
	h := s.enter(name)
	timer := time.NewTimer(waitForSlot)
	defer timer.Stop()
	if err := take(ctx, h.own, timer.C, "of yours"); err != nil {
		s.leave(name, h)
		return nil, err
	}
	if err := take(ctx, s.all, timer.C, "of all users"); err != nil {
		<-h.own
		s.leave(name, h)
		return nil, err
	}
	return func() {
		<-s.all
		<-h.own
		s.leave(name, h)
	}, nil
}

// take waits for a place among places.
func take(ctx context.Context, places chan struct{}, late <-chan time.Time, whose string) error {
	const op = "server.take"
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return pfs.CheckContext(ctx, op, "")
	case <-late:
		return pfs.Errorf(op, "", pfs.Limit, "%d requests %s are at work, try again", cap(places), whose)
	}
}

func (s *slots) enter(name string) *holder {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.holders[name]
	if h == nil {
		h = &holder{own: make(chan struct{}, s.share)}
		s.holders[name] = h
	}
	h.uses++
	return h
}

func (s *slots) leave(name string, h *holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.uses--; h.uses == 0 {
		delete(s.holders, name)
	}
}

// taken returns the number of slots in use.
func (s *slots) taken() int { return len(s.all) }
