package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/client"
)

// fakeAuthority counts requests and returns a new token each time.
type fakeAuthority struct {
	mu             sync.Mutex
	logins, renews int
	loginErr       error
	refreshErr     error
	lifetime       time.Duration
}

func (a *fakeAuthority) Login(_ context.Context, user, password string) (client.Tokens, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.logins++
	return a.tokens(user, "login", a.logins), a.loginErr
}

func (a *fakeAuthority) Refresh(_ context.Context, refresh string) (client.Tokens, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.renews++
	return a.tokens("u", "renew", a.renews), a.refreshErr
}

func (a *fakeAuthority) tokens(user, how string, n int) client.Tokens {
	life := a.lifetime
	if life == 0 {
		life = time.Hour
	}
	return client.Tokens{User: user, Access: fmt.Sprintf("%s-%d", how, n), Refresh: "r", Expires: time.Now().Add(life)}
}

func testEntry() Entry {
	return Entry{Name: "dc/1", Endpoint: "https://h", Username: "u"}
}

func token(t *testing.T, s *Session, refused string) string {
	t.Helper()
	got, err := s.Token(t.Context(), refused)
	if err != nil {
		t.Fatalf("Token(%q): %v", refused, err)
	}
	return got
}

func TestTokenNotLoggedIn(t *testing.T) {
	s := NewSession(filepath.Join(t.TempDir(), "config"), testEntry(), &fakeAuthority{})
	if _, err := s.Token(t.Context(), ""); pfs.KindOf(err) != pfs.Unauthenticated {
		t.Errorf("got %v, want Unauthenticated", err)
	}
}

// TestTokenOfRemovedAccount offers no login where none helps, and tries none.
func TestTokenOfRemovedAccount(t *testing.T) {
	auth := &fakeAuthority{refreshErr: pfs.Errorf("x", "", pfs.NotExist, "account %q was removed", "u")}
	e := testEntry()
	e.Password = "secret"
	s := NewSession(filepath.Join(t.TempDir(), "config"), e, auth)
	if err := s.Keep(t.Context(), auth.tokens("u", "first", 0)); err != nil {
		t.Fatal(err)
	}
	_, err := s.Token(t.Context(), "first-0")
	if !errors.Is(err, ErrNoAccount) || pfs.KindOf(err) != pfs.Unauthenticated || !strings.Contains(err.Error(), `account "u" was removed`) {
		t.Errorf("got %v, want that the account was removed", err)
	}
	if auth.logins != 0 {
		t.Errorf("%d logins", auth.logins)
	}
}

func TestTokenIsKept(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config")
	auth := &fakeAuthority{}
	s := NewSession(name, testEntry(), auth)
	if err := s.Keep(t.Context(), auth.tokens("u", "first", 0)); err != nil {
		t.Fatal(err)
	}
	other := NewSession(name, testEntry(), auth)
	if got := token(t, other, ""); got != "first-0" {
		t.Errorf("got %q, want the stored token", got)
	}
	if auth.logins+auth.renews != 0 {
		t.Errorf("asked the service %d times, want 0", auth.logins+auth.renews)
	}
	for _, change := range []func(*Entry){
		func(e *Entry) { e.Name = "dc_1" },
		func(e *Entry) { e.Username = "v" },
		func(e *Entry) { e.Endpoint = "https://i" },
	} {
		e := testEntry()
		change(&e)
		if got, err := NewSession(name, e, auth).Token(t.Context(), ""); err == nil {
			t.Errorf("%+v got the token %q of another", e, got)
		}
	}
	if runtime.GOOS != "windows" {
		if info, err := os.Stat(s.file.name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("token file: %v, %v; want mode 0600", info, err)
		}
	}
	if err := s.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Stored(); err != nil || got != (client.Tokens{}) {
		t.Errorf("after Forget: %+v, %v", got, err)
	}
}

func TestTokenRefusedIsRefreshedOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config")
	auth := &fakeAuthority{}
	a, b := NewSession(name, testEntry(), auth), NewSession(name, testEntry(), auth)
	if err := a.Keep(t.Context(), auth.tokens("u", "old", 0)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 { // the chunks in flight of two processes
		s := []*Session{a, b}[i%2]
		wg.Go(func() {
			if got, err := s.Token(t.Context(), "old-0"); err != nil || got != "renew-1" {
				t.Errorf("got %q, %v; want renew-1", got, err)
			}
		})
	}
	wg.Wait()
	if auth.renews != 1 {
		t.Errorf("refreshed %d times, want once", auth.renews)
	}
}

func TestExpiredTokenIsRefreshed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config")
	auth := &fakeAuthority{lifetime: -time.Hour} // as it seems if this clock is fast
	if err := NewSession(name, testEntry(), auth).Keep(t.Context(), auth.tokens("u", "old", 0)); err != nil {
		t.Fatal(err)
	}
	s := NewSession(name, testEntry(), auth)
	if got := token(t, s, ""); got != "renew-1" {
		t.Errorf("got %q, want renew-1", got)
	}
	if got := token(t, s, ""); got != "renew-1" || auth.renews != 1 {
		t.Errorf("got %q after %d refreshes, want the token just got", got, auth.renews)
	}
}

func TestTokenByPassword(t *testing.T) {
	e := testEntry()
	e.Password = "secret"
	auth := &fakeAuthority{refreshErr: pfs.E("x", "", pfs.Unauthenticated, nil)}
	s := NewSession(filepath.Join(t.TempDir(), "config"), e, auth)
	if got := token(t, s, ""); got != "login-1" {
		t.Errorf("got %q, want login-1", got)
	}
	if got := token(t, s, "login-1"); got != "login-2" {
		t.Errorf("after a refresh was refused: got %q, want login-2", got)
	}
	auth.loginErr = pfs.E("x", "", pfs.Unauthenticated, nil)
	_, err := s.Token(t.Context(), "login-2")
	if pfs.KindOf(err) != pfs.Unauthenticated || !strings.Contains(err.Error(), "password in the configuration") {
		t.Errorf("got %v, want Unauthenticated and where the password is", err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the message shows the password: %v", err)
	}
}

func TestUnreachableServiceIsNotALogout(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config")
	auth := &fakeAuthority{refreshErr: pfs.E("x", "", pfs.Unavailable, nil)}
	s := NewSession(name, testEntry(), auth)
	if err := s.Keep(t.Context(), auth.tokens("u", "old", 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Token(t.Context(), "old-0"); pfs.KindOf(err) != pfs.Unavailable {
		t.Errorf("got %v, want Unavailable", err)
	}
	auth.refreshErr = nil
	if got := token(t, s, "old-0"); got != "renew-2" {
		t.Errorf("got %q, want renew-2", got)
	}
}

func TestTokenWithoutAPlaceToKeepIt(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e := testEntry()
	e.Password = "secret"
	s := NewSession(filepath.Join(name, "config"), e, &fakeAuthority{})
	if got, err := s.Token(t.Context(), ""); err == nil {
		t.Logf("got %q", got)
	} else if pfs.KindOf(err) == pfs.Unauthenticated {
		t.Errorf("got %v, want the real reason", err)
	}
	if err := s.Keep(t.Context(), client.Tokens{Access: "x"}); err == nil {
		t.Error("Keep reported success")
	}
}

func TestDamagedTokenFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config")
	auth := &fakeAuthority{}
	s := NewSession(name, testEntry(), auth)
	if err := s.Keep(t.Context(), client.Tokens{Access: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.file.name, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = NewSession(name, testEntry(), auth)
	if _, err := s.Token(t.Context(), ""); pfs.KindOf(err) != pfs.Unauthenticated {
		t.Errorf("got %v, want Unauthenticated", err)
	}
}

func TestWaitingForTheLockEndsWithTheContext(t *testing.T) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for os.RemoveAll(dir) != nil { // a waiting process may be creating the lock file
		}
	})
	s := NewSession(filepath.Join(dir, "config"), testEntry(), &fakeAuthority{})
	unlock, err := s.file.lock()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Token(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
}
