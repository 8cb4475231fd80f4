package server

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// waitForSlot is how long a request waits for its turn before it is turned away.
const waitForSlot = 10 * time.Second

// slots bounds the requests at work: all of them together, and those of one holder (a
// user, or an address) to a share of them.
type slots struct {
	all   chan struct{}
	share int

	mu      sync.Mutex
	holders map[string]*holder
}

// holder has, or waits for, slots.
type holder struct {
	own  chan struct{} // as long as its share
	uses int           // requests that have or want a slot; guarded by slots.mu
}

func newSlots(n, share int) *slots {
	return &slots{all: make(chan struct{}, n), share: max(1, share), holders: map[string]*holder{}}
}

// claim asks for a slot: the name of a holder, and how many slots it may have at a
// time.
type claim struct {
	name  string
	share int
	whose string // for the message
}

// acquire waits for a slot for the holder called name. The caller calls release once.
func (s *slots) acquire(ctx context.Context, name string) (release func(), err error) {
	return s.acquireAs(ctx, claim{name, s.share, "of yours"})
}

// acquireFrom is acquire for a user at an address. The address has a share, too: half
// of the slots, since many users may come from one address.
func (s *slots) acquireFrom(ctx context.Context, user, address string) (release func(), err error) {
	return s.acquireAs(ctx,
		claim{"user " + user, s.share, "of yours"},
		claim{"address " + address, max(1, cap(s.all)/2), "of your address"})
}

// acquireAs waits for a slot under each of the claims.
func (s *slots) acquireAs(ctx context.Context, claims ...claim) (release func(), err error) {
	timer := time.NewTimer(waitForSlot)
	defer timer.Stop()
	var undo []func()
	release = func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	for _, c := range claims {
		h := s.hold(c)
		undo = append(undo, func() { s.drop(c.name, h) })
		if err := take(ctx, h.own, timer.C, c.whose); err != nil {
			release()
			return nil, err
		}
		undo = append(undo, func() { <-h.own })
	}
	if err := take(ctx, s.all, timer.C, "of all users"); err != nil {
		release()
		return nil, err
	}
	undo = append(undo, func() { <-s.all })
	return release, nil
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

// hold returns the holder of a name, which stays until drop was called as often.
func (s *slots) hold(c claim) *holder {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.holders[c.name]
	if h == nil {
		h = &holder{own: make(chan struct{}, c.share)}
		s.holders[c.name] = h
	}
	h.uses++
	return h
}

func (s *slots) drop(name string, h *holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.uses--; h.uses == 0 {
		delete(s.holders, name)
	}
}

// taken returns the number of slots in use.
func (s *slots) taken() int { return len(s.all) }

// address returns the address of the machine that the request came from.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
