package auth

import (
	"context"
	"crypto/rand"
	"runtime"

	"github.com/paddlecloud/pfs/internal/fair"
	"github.com/paddlecloud/pfs/pfs"
)

const (
	// MinPassword and MaxPassword bound new passwords, in bytes.
	MinPassword = 8
	MaxPassword = 1024

	// maxHashing bounds the passwords checked at a time, and maxQueued those waiting: at most two
	// times 64 MiB and a second or two, whatever the load.
	maxHashing = 2
	maxQueued  = 64
)

// hasher computes password hashes, a few at a time.
type hasher struct {
	turns *fair.Queue
	queue chan struct{}
	model argonHash // costs of new hashes; salt and key are dummies
}

func newHasher() *hasher {
	return &hasher{
		// One processor stays free for other requests.
		turns: fair.New(min(maxHashing, runtime.GOMAXPROCS(0)-1)),
		queue: make(chan struct{}, maxHashing+maxQueued),
		model: argonHash{
			memory: argonMemory, passes: argonPasses, lanes: argonLanes,
			salt: make([]byte, argonSaltLen), key: make([]byte, argonKeyLen),
		},
	}
}

// do runs f when it is the claimants' turn.
func (h *hasher) do(ctx context.Context, op string, f func(), claims ...fair.Claim) error {
	select {
	case h.queue <- struct{}{}:
		defer func() { <-h.queue }()
	default:
		return pfs.Errorf(op, "", pfs.Limit, "too many logins at this moment: %w", retryAfter(minDelay))
	}
	release, err := h.turns.Take(ctx, claims...)
	if err != nil {
		return pfs.E(op, "", pfs.Canceled, ctx.Err())
	}
	defer release()
	f()
	return nil
}

// hash returns the hash of a new password.
func (h *hasher) hash(ctx context.Context, op, password string) (string, error) {
	if n := len(password); n < MinPassword || n > MaxPassword {
		return "", pfs.Errorf(op, "", pfs.Invalid, "password of %d bytes: %d to %d are needed", n, MinPassword, MaxPassword)
	}
	a := h.model
	a.salt = make([]byte, argonSaltLen)
	rand.Read(a.salt)
	err := h.do(ctx, op, func() { a.key = a.derive([]byte(password)) })
	return a.String(), err
}

// check reports whether password matches the hash, in PHC or bcrypt form. An empty hash, of a
// missing account, matches nothing and takes the same time. An account or a network with many
// waiting passwords delays only itself.
func (h *hasher) check(ctx context.Context, op, hash, password, name, remote string) (ok bool, err error) {
	against, known := passwordHash(&h.model), false
	if parsed, err := parseHash(hash); err == nil {
		against, known = parsed, true
	}
	err = h.do(ctx, op, func() { ok = against.matches([]byte(password)) },
		fair.Claim{Key: "account " + name}, fair.Claim{Key: "network " + networkOf(remote)})
	return ok && known, err
}
