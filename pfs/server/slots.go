package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/paddlecloud/pfs/internal/fair"
	"github.com/paddlecloud/pfs/pfs"
)

// waitForSlot is how long a request waits for a slot before it is refused.
const waitForSlot = 10 * time.Second

// slots bounds the requests in progress: in total, and those of one holder (a user or an address)
// to a share. Waiting holders get slots in turn.
type slots struct {
	queue    *fair.Queue
	n, share int
}

func newSlots(n, share int) *slots {
	return &slots{queue: fair.New(n), n: n, share: max(1, share)}
}

// acquire waits for a slot for the holder called name. The caller calls release once.
func (s *slots) acquire(ctx context.Context, name string) (release func(), err error) {
	return s.acquireAs(ctx, fair.Claim{Key: name, Share: s.share})
}

// acquireFrom is acquire for a user at an address. The address has a share, too: half of the
// slots, because many users may come from one address.
func (s *slots) acquireFrom(ctx context.Context, user, address string) (release func(), err error) {
	return s.acquireAs(ctx,
		fair.Claim{Key: "user " + user, Share: s.share},
		fair.Claim{Key: "address " + address, Share: max(1, s.n/2)})
}

// acquireAs waits for a slot under each of the claims: the holder's own, and its address's.
func (s *slots) acquireAs(ctx context.Context, claims ...fair.Claim) (release func(), err error) {
	const op = "server.acquire"
	wait, cancel := context.WithTimeout(ctx, waitForSlot)
	defer cancel()
	release, err = s.queue.Take(wait, claims...)
	if err == nil {
		return release, nil
	}
	if err := pfs.CheckContext(ctx, op, ""); err != nil {
		return nil, err
	}
	at, whose := s.n, "of all users"
	if full := new(fair.Full); errors.As(err, &full) && full.Claim >= 0 {
		at, whose = claims[full.Claim].Share, []string{"of yours", "of your address"}[full.Claim]
	}
	return nil, pfs.Errorf(op, "", pfs.Limit, "%d requests %s are in progress, try again", at, whose)
}

// taken returns the number of slots in use.
func (s *slots) taken() int { return s.queue.Taken() }

// turn is how long a computation keeps its turn. One that takes longer probably waits for a store
// or a lock, so the next one starts beside it.
const turn = time.Millisecond

// newTurns returns the queue in which long computations wait for processors. One
// processor stays free for short requests.
func newTurns() *fair.Queue { return fair.New(runtime.GOMAXPROCS(0) - 1) }

// turnsOf returns the turns of a user.
func (s *Server) turnsOf(user string) pfs.Turns {
	claim := fair.Claim{Key: user}
	return func(ctx context.Context) (end func(), err error) {
		end, err = s.turns.TakeFor(ctx, turn, claim)
		if err != nil {
			return nil, pfs.CheckContext(ctx, "server.turn", "")
		}
		return end, nil
	}
}

// address returns the address of the machine that the request came from.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
