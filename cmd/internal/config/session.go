package config

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/client"
)

// Authority issues tokens: the service of an entry.
type Authority interface {
	Login(ctx context.Context, user, password string) (client.Tokens, error)
	Refresh(ctx context.Context, refresh string) (client.Tokens, error)
}

// Session provides an access token for one entry. It is safe for concurrent use, and processes that
// share the token file take turns at refreshing it.
type Session struct {
	entry Entry
	file  tokenFile
	auth  Authority

	mu     sync.Mutex
	tokens client.Tokens
	fresh  bool // issued to this process: valid until refused
}

// NewSession returns the session of the entry e of the configuration file configName.
func NewSession(configName string, e Entry, auth Authority) *Session {
	return &Session{entry: e, file: newTokenFile(configName, e), auth: auth}
}

// early is how long before its expiry a stored token is no longer used.
const early = 30 * time.Second

// Token returns an access token other than refused, the one that the service has just refused. If
// necessary, it refreshes, or logs in with the password of the entry; if it can do neither it
// returns Unauthenticated.
func (s *Session) Token(ctx context.Context, refused string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usable(refused) {
		return s.tokens.Access, nil
	}
	if err := s.load(); err != nil {
		return "", err
	}
	if s.usable(refused) {
		return s.tokens.Access, nil
	}
	err := s.locked(ctx, func(error) error {
		if err := s.load(); err != nil || s.usable(refused) {
			return err // another process was faster
		}
		return s.renew(ctx)
	})
	return s.tokens.Access, err
}

// usable reports whether the current tokens can be tried.
func (s *Session) usable(refused string) bool {
	t := s.tokens
	return t.Access != "" && t.Access != refused && (s.fresh || time.Until(t.Expires) > early)
}

// load reads the tokens from the file, where another process may have stored new ones.
func (s *Session) load() error {
	tokens, err := s.file.load()
	if err != nil {
		return err
	}
	if tokens.Access != s.tokens.Access {
		s.fresh = false
	}
	s.tokens = tokens
	return nil
}

// renew gets new tokens from the service and stores them. If they cannot be stored, this process
// still uses them, and the next process gets its own.
func (s *Session) renew(ctx context.Context) error {
	err := s.notLoggedIn(nil)
	if s.tokens.Refresh != "" {
		var tokens client.Tokens
		if tokens, err = s.auth.Refresh(ctx, s.tokens.Refresh); err == nil {
			s.keep(tokens)
			return nil
		}
		switch {
		case errors.Is(err, pfs.NotExist):
			return pfs.E(tokenOp, "", pfs.Unauthenticated, noAccount{s.because(err)})
		case !errors.Is(err, pfs.Unauthenticated):
			return err
		}
		err = s.notLoggedIn(err)
	}
	if s.entry.Password == "" || s.entry.Username == "" {
		return err
	}
	tokens, err := s.auth.Login(ctx, s.entry.Username, s.entry.Password)
	if err != nil {
		return fmt.Errorf("log in to datacenter %q with the password in the configuration: %w", s.entry.Name, err)
	}
	s.keep(tokens)
	return nil
}

// ErrNoAccount matches the error of a Session whose account was removed: a login cannot help.
var ErrNoAccount = errors.New("the account was removed")

// noAccount is a cause that also matches ErrNoAccount.
type noAccount struct{ error }

func (e noAccount) Is(target error) bool { return target == ErrNoAccount }

const tokenOp = "config.Session.Token"

func (s *Session) notLoggedIn(why error) error {
	return pfs.E(tokenOp, "", pfs.Unauthenticated, s.because(why))
}

// because adds the datacenter and the reason, if any, to an error.
func (s *Session) because(why error) error {
	text := fmt.Sprintf("datacenter %q", s.entry.Name)
	var e *pfs.Error
	if errors.As(why, &e) && e.Err != nil {
		why = e.Err // the service's words, without repeating the Kind
	}
	if why != nil {
		text += ": " + why.Error()
	}
	return errors.New(text)
}

func (s *Session) keep(tokens client.Tokens) error {
	s.tokens, s.fresh = tokens, true
	return s.file.save(tokens)
}

// Keep stores the tokens of a login.
func (s *Session) Keep(ctx context.Context, tokens client.Tokens) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locked(ctx, func(err error) error {
		if err != nil {
			return err
		}
		return s.keep(tokens)
	})
}

// Stored returns the tokens in the file, or the zero Tokens.
func (s *Session) Stored() (client.Tokens, error) { return s.file.load() }

// Forget removes the stored tokens.
func (s *Session) Forget(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens, s.fresh = client.Tokens{}, false
	return s.locked(ctx, func(err error) error {
		if err != nil {
			return err
		}
		return s.file.remove()
	})
}

// locked calls fn while no other process uses the token file. If the file cannot be locked, it
// calls fn with the reason. It waits until ctx is done.
func (s *Session) locked(ctx context.Context, fn func(err error) error) error {
	type result struct {
		unlock func()
		err    error
	}
	got := make(chan result)
	go func() {
		unlock, err := s.file.lock()
		select {
		case got <- result{unlock, err}:
		case <-ctx.Done():
			if err == nil {
				unlock()
			}
		}
	}()
	select {
	case r := <-got:
		if r.err == nil {
			defer r.unlock()
		}
		return fn(r.err)
	case <-ctx.Done():
		return pfs.CheckContext(ctx, "config.Session.Token", "")
	}
}
