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

// Authority gives tokens: the service of an entry.
type Authority interface {
	Login(ctx context.Context, user, password string) (client.Tokens, error)
	Refresh(ctx context.Context, refresh string) (client.Tokens, error)
}

// Session has an access token of one entry ready. It is safe for concurrent use,
// and processes that share the token file take turns at refreshing it.
type Session struct {
	entry Entry
	file  tokenFile
	auth  Authority

	mu     sync.Mutex
	tokens client.Tokens
	fresh  bool // got from the service by this process: good until refused
}

// NewSession returns the session of the entry e of the configuration file
// configName.
func NewSession(configName string, e Entry, auth Authority) *Session {
	return &Session{entry: e, file: newTokenFile(configName, e), auth: auth}
}

// early is how long before its end a stored token is no longer used.
const early = 30 * time.Second

// Token returns an access token other than refused, the one that the service has
// just refused. It refreshes, or logs in with the password of the entry, if need
// be; if it can do neither the answer is Unauthenticated.
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

// usable reports whether the tokens at hand can be tried.
func (s *Session) usable(refused string) bool {
	t := s.tokens
	return t.Access != "" && t.Access != refused && (s.fresh || time.Until(t.Expires) > early)
}

// load takes the tokens from the file, where another process may have put new
// ones.
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

// renew gets new tokens from the service and keeps them. Where they cannot be
// stored they still serve this process, and the next one gets its own.
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

// ErrNoAccount is what the error of a Session matches when the account was removed: no
// login helps.
var ErrNoAccount = errors.New("the account was removed")

// noAccount is a cause that is ErrNoAccount, too.
type noAccount struct{ error }

func (e noAccount) Is(target error) bool { return target == ErrNoAccount }

const tokenOp = "config.Session.Token"

func (s *Session) notLoggedIn(why error) error {
	return pfs.E(tokenOp, "", pfs.Unauthenticated, s.because(why))
}

// because names the datacenter and, if there is a reason, that.
func (s *Session) because(why error) error {
	text := fmt.Sprintf("datacenter %q", s.entry.Name)
	var e *pfs.Error
	if errors.As(why, &e) && e.Err != nil {
		why = e.Err // in the service's words, without saying twice what kind it is
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

// Stored returns the tokens in the file, the zero Tokens if there are none.
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

// locked calls fn while no other process uses the token file, and also, with the
// reason, if the file cannot be locked. Waiting ends when ctx does.
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
