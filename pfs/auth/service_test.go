package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/fair"
	"github.com/paddlecloud/pfs/pfs"
)

const home = "192.0.2.1:1000"

// newTestService returns a service with the account ann, and its clock.
func newTestService(t *testing.T, opts Options) (*Service, *clock) {
	t.Helper()
	c := newClock()
	opts.Now = c.Now
	s, err := Open(context.Background(), t.TempDir(), opts)
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, cheap(s.Accounts()), NewAccount{Name: "ann"})
	return s, c
}

func mustLogin(t *testing.T, s *Service) Tokens {
	t.Helper()
	tokens, err := s.Login(context.Background(), "ann", goodPassword, home)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func TestLogin(t *testing.T) {
	ctx := context.Background()
	s, c := newTestService(t, Options{})
	tokens := mustLogin(t, s)
	if tokens.User != "ann" || !tokens.Expires.Equal(c.Now().Add(15*time.Minute)) || !tokens.RefreshExpires.Equal(c.Now().Add(30*24*time.Hour)) {
		t.Errorf("tokens of %q until %v and %v", tokens.User, tokens.Expires, tokens.RefreshExpires)
	}
	id, err := s.Verify(ctx, tokens.Access)
	if want := (Identity{"ann", User, "ann", 20000, 20000}); err != nil || id != want {
		t.Errorf("Verify = %+v, %v; want %+v", id, err, want)
	}
	for user, password := range map[string]string{"ann": "wrong horse", "nobody": goodPassword, "": ""} {
		_, err := s.Login(ctx, user, password, home)
		wantKind(t, err, pfs.Unauthenticated)
	}
}

func TestIssue(t *testing.T) {
	s, c := newTestService(t, Options{})
	token, expires, err := s.Issue("ann")
	if err != nil || !expires.Equal(c.Now().Add(15*time.Minute)) {
		t.Fatalf("until %v, %v", expires, err)
	}
	if id, err := s.Verify(context.Background(), token); err != nil || id.Name != "ann" {
		t.Errorf("Verify = %+v, %v", id, err)
	}
	_, _, err = s.Issue("bob")
	wantKind(t, err, pfs.NotExist)
}

func TestAccessExpires(t *testing.T) {
	ctx := context.Background()
	s, c := newTestService(t, Options{})
	tokens := mustLogin(t, s)
	c.Advance(DefaultAccessLife)
	if _, err := s.Verify(ctx, tokens.Access); err != nil {
		t.Errorf("within the leeway of replicas' clocks: %v", err)
	}
	c.Advance(leeway)
	_, err := s.Verify(ctx, tokens.Access)
	wantKind(t, err, pfs.Unauthenticated)
	if !strings.Contains(err.Error(), "expired") {
		t.Errorf("error %q does not say that the token expired", err)
	}
	fresh, err := s.Refresh(ctx, tokens.Refresh, home)
	if err != nil {
		t.Fatal(err)
	}
	if fresh.Refresh != tokens.Refresh || !fresh.RefreshExpires.Equal(tokens.RefreshExpires) {
		t.Errorf("the refresh token or its end changed: %v, was %v", fresh.RefreshExpires, tokens.RefreshExpires)
	}
	if _, err := s.Verify(ctx, fresh.Access); err != nil {
		t.Errorf("Verify of a refreshed token: %v", err)
	}
}

// Every change of an account invalidates its tokens, and the error names the cause.
func TestChangesEndTokens(t *testing.T) {
	ctx := context.Background()
	tests := []struct {
		name   string
		change func(*Accounts) error
		says   string
		kind   pfs.Kind // of a refresh
	}{
		{"password", func(a *Accounts) error { return a.SetPassword(ctx, "ann", "another horse") }, "was changed", pfs.Unauthenticated},
		{"role", func(a *Accounts) error { return a.SetRole(ctx, "ann", Admin) }, "was changed", pfs.Unauthenticated},
		{"removal", func(a *Accounts) error { return a.Remove(ctx, "ann") }, "was removed", pfs.NotExist},
		{"removal and return", func(a *Accounts) error {
			if err := a.Remove(ctx, "ann"); err != nil {
				return err
			}
			_, err := a.Add(ctx, NewAccount{Name: "ann", Password: goodPassword})
			return err
		}, "was changed", pfs.Unauthenticated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, c := newTestService(t, Options{})
			tokens := mustLogin(t, s)
			other, err := OpenAccounts(s.Accounts().path, AccountsOptions{}) // another process
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.change(cheap(other)); err != nil {
				t.Fatal(err)
			}
			c.Advance(DefaultPoll)
			_, err = s.Verify(ctx, tokens.Access)
			wantKind(t, err, pfs.Unauthenticated)
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %q does not say %q", err, tt.says)
			}
			for range 2 {
				_, err = s.Refresh(ctx, tokens.Refresh, home)
				wantKind(t, err, tt.kind)
			}
			if _, err := s.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
			if n := countRefresh(t, s); n != 0 {
				t.Errorf("%d refresh tokens are still kept", n)
			}
		})
	}
}

func TestRefreshExpires(t *testing.T) {
	ctx := context.Background()
	s, c := newTestService(t, Options{})
	tokens := mustLogin(t, s)
	c.Advance(RefreshLife - time.Second)
	if _, err := s.Refresh(ctx, tokens.Refresh, home); err != nil {
		t.Errorf("a second before the end: %v", err)
	}
	c.Advance(time.Second)
	_, err := s.Refresh(ctx, tokens.Refresh, home)
	wantKind(t, err, pfs.Unauthenticated)
	if n := countRefresh(t, s); n != 0 {
		t.Errorf("%d refresh tokens are still kept", n)
	}
}

func TestLogout(t *testing.T) {
	ctx := context.Background()
	s, _ := newTestService(t, Options{})
	tokens, other := mustLogin(t, s), mustLogin(t, s)
	for _, want := range []string{"ann", ""} {
		if user, err := s.Logout(ctx, tokens.Refresh); user != want || err != nil {
			t.Errorf("Logout = %q, %v; want %q", user, err, want)
		}
	}
	_, err := s.Refresh(ctx, tokens.Refresh, home)
	wantKind(t, err, pfs.Unauthenticated)
	if _, err := s.Refresh(ctx, other.Refresh, home); err != nil {
		t.Errorf("the other session ended too: %v", err)
	}
	_, err = s.Logout(ctx, "nonsense")
	wantKind(t, err, pfs.Unauthenticated)
}

// A logout is answered once a crash cannot bring the session back.
func TestLogoutIsDurable(t *testing.T) {
	s, _ := newTestService(t, Options{})
	tokens := mustLogin(t, s)
	var synced []string
	s.refresh.syncDir = func(dir string) error {
		if n := countRefresh(t, s); n != 0 {
			t.Errorf("synced with %d tokens kept", n)
		}
		synced = append(synced, dir)
		return fs.ErrPermission
	}
	_, err := s.Logout(t.Context(), tokens.Refresh)
	wantKind(t, err, pfs.Permission)
	if parsed, _ := parseRefresh(tokens.Refresh); len(synced) != 1 || synced[0] != filepath.Dir(parsed.path(s.refresh.dir)) {
		t.Errorf("synced: %q", synced)
	}
}

func TestHostileRefreshTokens(t *testing.T) {
	s, _ := newTestService(t, Options{})
	good := mustLogin(t, s).Refresh
	for _, token := range []string{
		"", "x", "../../token.key", strings.Repeat("A", 64), strings.Repeat("A", 1<<20),
		good[:63], good + "A", good[:60] + "/../", good[:63] + "=", strings.ToUpper(good), "é" + good[2:],
	} {
		_, err := s.Refresh(context.Background(), token, home)
		wantKind(t, err, pfs.Unauthenticated)
	}
}

// The service stores no refresh token, only its hash.
func TestRefreshTokensAreNotKept(t *testing.T) {
	s, _ := newTestService(t, Options{})
	token := mustLogin(t, s).Refresh
	parsed, _ := parseRefresh(token)
	err := filepath.WalkDir(s.refresh.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(path, token) || bytes.Contains(data, []byte(token)) || bytes.Contains(data, parsed[refreshUserLen:]) {
			t.Errorf("%s tells the token", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func countRefresh(t *testing.T, s *Service) (n int) {
	t.Helper()
	err := filepath.WalkDir(s.refresh.dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A user who logs in again and again drops the session unused for longest.
func TestRefreshTokensAreBounded(t *testing.T) {
	ctx := context.Background()
	s, c := newTestService(t, Options{MaxRefresh: 3})
	var sessions []Tokens
	for range 3 {
		sessions = append(sessions, mustLogin(t, s))
		c.Advance(time.Minute)
	}
	if _, err := s.Refresh(ctx, sessions[0].Refresh, home); err != nil {
		t.Fatal(err)
	}
	c.Advance(time.Minute)
	sessions = append(sessions, mustLogin(t, s))
	for i, want := range []bool{true, false, true, true} {
		if _, err := s.Refresh(ctx, sessions[i].Refresh, home); (err == nil) != want {
			t.Errorf("session %d: %v, want alive %v", i, err, want)
		}
	}
	if n := countRefresh(t, s); n != 3 {
		t.Errorf("%d refresh tokens are kept, want 3", n)
	}
}

func TestSweep(t *testing.T) {
	ctx := context.Background()
	s, c := newTestService(t, Options{})
	mustAdd(t, s.Accounts(), NewAccount{Name: "bob"})
	mustLogin(t, s)
	if _, err := s.Login(ctx, "bob", goodPassword, home); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Sweep(ctx); n != 0 || err != nil {
		t.Errorf("Sweep of live tokens = %d, %v", n, err)
	}
	if err := s.Accounts().Remove(ctx, "bob"); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Sweep(ctx); n != 1 || err != nil {
		t.Errorf("Sweep after a removal = %d, %v; want 1", n, err)
	}
	c.Advance(RefreshLife)
	if n, err := s.Sweep(ctx); n != 1 || err != nil {
		t.Errorf("Sweep after the end = %d, %v; want 1", n, err)
	}
	if n := countRefresh(t, s); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

func TestSweepOfUnfinishedFiles(t *testing.T) {
	s, c := newTestService(t, Options{})
	dir := filepath.Join(s.refresh.dir, "00")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{"old.new": staleTemp + time.Second, "young.new": time.Hour} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		when := c.Now().Add(-age)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.Sweep(context.Background()); n != 1 || err != nil {
		t.Errorf("Sweep = %d, %v; want 1", n, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "young.new")); err != nil {
		t.Errorf("a file that may still be written is gone: %v", err)
	}
}

func TestLoginIsLimited(t *testing.T) {
	ctx := context.Background()
	s, c := newTestService(t, Options{})
	for i := range freePair + 1 {
		_, err := s.Login(ctx, "ann", fmt.Sprint("wrong horse", i), home)
		wantKind(t, err, pfs.Unauthenticated)
	}
	_, err := s.Login(ctx, "ann", goodPassword, home)
	wantKind(t, err, pfs.Limit)
	var wait *RetryAfter
	if !errors.As(err, &wait) || wait.Wait != time.Second {
		t.Errorf("error %v does not tell the second to wait", err)
	}
	c.Advance(wait.Wait)
	mustLogin(t, s)
}

// A login that its caller cancels before the password is checked is not a failure.
func TestCanceledLoginsAreNoFailures(t *testing.T) {
	s, _ := newTestService(t, Options{})
	s.accounts.hash.turns = fair.New(1)
	release, err := s.accounts.hash.turns.Take(context.Background()) // all turns are taken
	if err != nil {
		t.Fatal(err)
	}
	for range freePair * 3 {
		ctx, cancel := context.WithCancel(context.Background())
		stopped := context.AfterFunc(ctx, func() {})
		cancel()
		stopped()
		_, err := s.Login(ctx, "ann", goodPassword, home)
		wantKind(t, err, pfs.Canceled)
	}
	release()
	mustLogin(t, s)
}

// Two replicas that share the directory accept each other's tokens, and so does one that was
// started again.
func TestReplicas(t *testing.T) {
	ctx := context.Background()
	first, c := newTestService(t, Options{})
	second, err := Open(ctx, filepath.Dir(first.Accounts().path), Options{Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	tokens := mustLogin(t, first)
	if _, err := second.Verify(ctx, tokens.Access); err != nil {
		t.Errorf("Verify at the other replica: %v", err)
	}
	if _, err := second.Logout(ctx, tokens.Refresh); err != nil {
		t.Fatal(err)
	}
	_, err = first.Refresh(ctx, tokens.Refresh, home)
	wantKind(t, err, pfs.Unauthenticated)
}

// The log contains names and addresses, but no passwords, no tokens, and no names that are not
// accounts.
func TestLog(t *testing.T) {
	ctx := context.Background()
	var log bytes.Buffer
	s, _ := newTestService(t, Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	tokens := mustLogin(t, s)
	s.Login(ctx, "ann", "wrong horse", home)
	s.Login(ctx, "my secret typed too early", "", home)
	s.Refresh(ctx, tokens.Refresh[:63]+"A", home)
	for _, want := range []string{"msg=login user=ann remote=" + home, `msg="login failed" user=ann`, `user=(unknown)`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, &log)
		}
	}
	for _, secret := range []string{goodPassword, "wrong horse", "typed too early", tokens.Access, tokens.Refresh[:40]} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log tells %q", secret)
		}
	}
}
