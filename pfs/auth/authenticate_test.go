package auth

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

func TestAuthenticate(t *testing.T) {
	ctx := context.Background()
	s, c := newTestService(t, Options{})
	g, err := s.Authenticate(ctx, "ann", goodPassword, home)
	if err != nil || g.Name != "ann" {
		t.Fatalf("%+v, %v", g, err)
	}
	for user, password := range map[string]string{"ann": "wrong horse", "nobody": goodPassword, "": ""} {
		_, err := s.Authenticate(ctx, user, password, home)
		wantKind(t, err, pfs.Unauthenticated)
	}
	tokens := mustLogin(t, s)
	byToken, err := s.AuthenticateToken(ctx, tokens.Access)
	if err != nil || byToken.Account != g.Account || byToken.Session == "" || !byToken.Expires.Equal(tokens.Expires.Add(leeway)) {
		t.Errorf("by token %+v, %v; want %+v with a session", byToken, err, g)
	}
	refreshed, err := s.Refresh(ctx, tokens.Refresh, home)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.AuthenticateToken(ctx, refreshed.Access); err != nil || again.Session != byToken.Session {
		t.Errorf("refreshed: %+v, %v; want the session of %+v", again, err, byToken)
	}
	c.Advance(DefaultAccessLife + time.Minute)
	if err := s.Check(g); err != nil {
		t.Errorf("later: %v", err)
	}
}

// TestGrantsEnd changes the account in each way that ends grants and remembered passwords.
func TestGrantsEnd(t *testing.T) {
	ctx := context.Background()
	for what, change := range map[string]func(*Accounts) error{
		"password": func(a *Accounts) error { return a.SetPassword(ctx, "ann", "another horse") },
		"role":     func(a *Accounts) error { return a.SetRole(ctx, "ann", Publisher) },
		"identity": func(a *Accounts) error {
			_, err := a.SetStoreIdentity(ctx, "ann", StoreIdentity{UID: 30000})
			return err
		},
		"removal": func(a *Accounts) error { return a.Remove(ctx, "ann") },
	} {
		s, c := newTestService(t, Options{})
		g, err := s.Authenticate(ctx, "ann", goodPassword, home)
		if err != nil {
			t.Fatal(err)
		}
		other, err := OpenAccounts(s.accounts.path, AccountsOptions{Now: c.Now}) // as another process
		if err != nil {
			t.Fatal(err)
		}
		if err := change(cheap(other)); err != nil {
			t.Fatal(err)
		}
		c.Advance(DefaultPoll)
		if err := s.Check(g); !errors.Is(err, pfs.Unauthenticated) {
			t.Errorf("%s: Check = %v", what, err)
		}
		_, err = s.Authenticate(ctx, "ann", goodPassword, home)
		if works := what == "role" || what == "identity"; works != (err == nil) {
			t.Errorf("%s: the password again: %v", what, err)
		}
	}
}

// TestPasswordIsRemembered sends a password again and again: it is computed once. A refused network does
// not learn whether a password is remembered.
func TestPasswordIsRemembered(t *testing.T) {
	ctx := context.Background()
	s, c := newTestService(t, Options{})
	if _, err := s.Authenticate(ctx, "ann", goodPassword, home); err != nil {
		t.Fatal(err)
	}
	queue := s.accounts.hash.queue
	for range cap(queue) { // no password can be computed now
		queue <- struct{}{}
	}
	for range 100 {
		if _, err := s.Authenticate(ctx, "ann", goodPassword, home); err != nil {
			t.Fatal(err)
		}
	}
	for why, try := range map[string]func() error{
		"another network": func() error { _, err := s.Authenticate(ctx, "ann", goodPassword, "198.51.100.7:1"); return err },
		"later": func() error {
			c.Advance(provenFor)
			_, err := s.Authenticate(ctx, "ann", goodPassword, home)
			return err
		},
	} {
		if err := try(); !errors.Is(err, pfs.Limit) {
			t.Errorf("%s: %v; want to wait for a computation", why, err)
		}
	}
	for range cap(queue) {
		<-queue
	}
	for range freePair + 1 {
		_, err := s.Authenticate(ctx, "ann", "wrong horse", home)
		wantKind(t, err, pfs.Unauthenticated)
	}
	_, err := s.Authenticate(ctx, "ann", goodPassword, home)
	wantKind(t, err, pfs.Limit)
}

// TestManyAtOnce sends one password on many connections before the first is checked.
func TestManyAtOnce(t *testing.T) {
	s, _ := newTestService(t, Options{})
	var work sync.WaitGroup
	for range 50 {
		work.Go(func() {
			if _, err := s.Authenticate(context.Background(), "ann", goodPassword, home); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
}
