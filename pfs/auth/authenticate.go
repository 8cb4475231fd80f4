package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/internal/lru"
	"github.com/paddlecloud/pfs/pfs"
)

// Grant is the result of a successful authentication, for long connections. Check tells whether it is still
// valid. A gateway whose configuration trusts user names makes a Grant from the account alone.
type Grant struct {
	Account
	Key     string    // the fingerprint of the public key that was proved; empty for passwords and tokens
	Session string    // the session that a token belongs to; empty for passwords and keys
	Expires time.Time // when a token ends, if there is one
}

// Authenticate checks the password of a user at the address remote, as Login does, but makes no tokens. A correct
// password is remembered for a few minutes, because some protocols send it with every request. Equal attempts at
// the same time are one attempt.
func (s *Service) Authenticate(ctx context.Context, user, password, remote string) (Grant, error) {
	const op = "auth.Authenticate"
	if err := pfs.CheckContext(ctx, op, ""); err != nil {
		return Grant{}, err
	}
	if wait := s.limiter.waiting(user, remote); wait != nil {
		return Grant{}, s.limited(op, wait, user, remote)
	}
	key := s.proven.key(user, password, networkOf(remote))
	if generation, ok := s.proven.get(key, s.opts.Now()); ok {
		if account, err := s.accountOfGeneration(op, user, generation); err == nil {
			return Grant{Account: account}, nil
		}
	}
	result := s.attempts.DoChan(string(key[:]), func() (any, error) {
		account, err := s.checkPassword(context.WithoutCancel(ctx), op, user, password, remote)
		if err == nil {
			s.proven.add(key, account.Generation, s.opts.Now())
		}
		return Grant{Account: account}, err
	})
	select {
	case r := <-result:
		return r.Val.(Grant), r.Err
	case <-ctx.Done():
		return Grant{}, pfs.E(op, "", pfs.Canceled, ctx.Err())
	}
}

// AuthenticateToken is Verify for long connections.
func (s *Service) AuthenticateToken(ctx context.Context, access string) (Grant, error) {
	const op = "auth.AuthenticateToken"
	if err := pfs.CheckContext(ctx, op, ""); err != nil {
		return Grant{}, err
	}
	c, err := s.signer.check(op, access)
	if err != nil {
		return Grant{}, err
	}
	account, err := s.accountOfGeneration(op, c.Subject, c.Generation)
	return Grant{Account: account, Session: c.Session, Expires: c.ExpiresAt.Add(leeway)}, err
}

// Check answers Unauthenticated if the account of g was removed, if its password, role or identity on the stores
// has changed since, or if the key was removed. A change takes effect within Options.Poll.
func (s *Service) Check(g Grant) error {
	const op = "auth.Check"
	account, err := s.accountOfGeneration(op, g.Name, g.Generation)
	if err == nil && account.Identity != g.Identity {
		err = pfs.Errorf(op, "", pfs.Unauthenticated, "the identity of %q on the stores was changed: log in again", g.Name)
	}
	if err == nil && g.Key != "" {
		if r, ok := s.accounts.view().find(g.Name); !ok || !r.hasKey(g.Key) {
			err = pfs.Errorf(op, "", pfs.Unauthenticated, "the key %s was removed from the account %q", g.Key, g.Name)
		}
	}
	return err
}

const (
	provenFor  = 5 * time.Minute
	mostProven = 1 << 14
)

// proven remembers correct passwords by a hash whose key nobody knows outside this process. A password was correct
// for a generation of its account.
type proven struct {
	secret []byte

	mu      sync.Mutex
	entries *lru.Cache[provenKey, *provenEntry]
}

type provenKey [sha256.Size]byte

type provenEntry struct {
	generation string
	until      time.Time
}

func newProven() *proven {
	p := &proven{secret: make([]byte, sha256.Size), entries: lru.New[provenKey](mostProven, lru.One[*provenEntry])}
	rand.Read(p.secret)
	return p
}

func (p *proven) key(user, password, network string) (k provenKey) {
	h := hmac.New(sha256.New, p.secret)
	fmt.Fprintf(h, "%q %q %q", user, password, network)
	h.Sum(k[:0])
	return k
}

// get returns the generation for which the password of key was correct.
func (p *proven) get(key provenKey, now time.Time) (generation string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.entries.Get(key)
	if !ok || !now.Before(e.until) {
		return "", false
	}
	return e.generation, true
}

func (p *proven) add(key provenKey, generation string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.entries.Get(key); ok {
		e.generation, e.until = generation, now.Add(provenFor)
		return
	}
	p.entries.Add(key, &provenEntry{generation, now.Add(provenFor)})
}

// checkPassword returns the account of a user whose password is correct, within the limits for failed logins.
func (s *Service) checkPassword(ctx context.Context, op, user, password, remote string) (Account, error) {
	try, wait := s.limiter.begin(user, remote)
	if wait != nil {
		return Account{}, s.limited(op, wait, user, remote)
	}
	account, err := s.accounts.Verify(ctx, user, password, remote)
	switch {
	case errors.Is(err, pfs.Unauthenticated):
		s.logRefused("login failed", user, remote)
		return Account{}, err
	case err != nil:
		try.abandon()
		return Account{}, err
	}
	try.succeed()
	s.opts.Logger.Info("login", "user", account.Name, "remote", remote)
	return account, nil
}

// limited returns the refusal of an attempt that comes too early, and logs it.
func (s *Service) limited(op string, wait *RetryAfter, user, remote string) error {
	s.logRefused("login limited", user, remote)
	return pfs.Errorf(op, "", pfs.Limit, "too many failed logins: %w", wait)
}
