package client_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/client"
	"github.com/paddlecloud/pfs/pfs/server"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// tokens is an Authenticator of one user whose access tokens are "token-N" and whose
// only valid one is the newest.
type tokens struct {
	newest  atomic.Int64
	checked atomic.Int64
}

func (a *tokens) name(n int64) string { return "token-" + string(rune('a'+n)) }

func (a *tokens) Login(_ context.Context, user, password, _ string) (auth.Tokens, error) {
	if user != "alice" || password != "correct horse" {
		return auth.Tokens{}, pfs.Errorf("test.Login", "", pfs.Unauthenticated, "wrong user name or password")
	}
	return auth.Tokens{User: user, Access: a.name(a.newest.Load()), Refresh: "refresh", Expires: time.Unix(1e9, 0)}, nil
}

func (a *tokens) Refresh(_ context.Context, refresh, _ string) (auth.Tokens, error) {
	if refresh != "refresh" {
		return auth.Tokens{}, pfs.Errorf("test.Refresh", "", pfs.Unauthenticated, "log in again")
	}
	return auth.Tokens{User: "alice", Access: a.name(a.newest.Load()), Refresh: "refresh"}, nil
}

func (a *tokens) Logout(context.Context, string) (string, error) { return "", nil }

func (a *tokens) Verify(_ context.Context, access string) (auth.Identity, error) {
	a.checked.Add(1)
	if access != a.name(a.newest.Load()) {
		return auth.Identity{}, pfs.Errorf("test.Verify", "", pfs.Unauthenticated, "the token has expired")
	}
	return auth.Identity{Name: "alice"}, nil
}

// service is a running server.
type service struct {
	*httptest.Server
	tokens *tokens
}

// serve starts a server of fsys, over TLS.
func serve(t testing.TB, fsys pfs.FileSystem) *service {
	return start(t, fsys, true, nil)
}

// start starts a server of fsys; wrap, if not nil, stands before it.
func start(t testing.TB, fsys pfs.FileSystem, secure bool, wrap func(http.Handler) http.Handler) *service {
	t.Helper()
	a := &tokens{}
	s := server.New(server.Config{
		Auth: a, View: func(auth.Identity, string) pfs.FileSystem { return fsys },
		Datacenters: []string{"dc"}, Current: "dc", Version: "test",
	})
	var h http.Handler = s
	if wrap != nil {
		h = wrap(h)
	}
	ts := httptest.NewUnstartedServer(h)
	ts.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return s.ConnContext(ctx, c) }
	ts.Listener = wire.CorkListener{Listener: ts.Listener}
	if secure {
		ts.StartTLS()
	} else {
		ts.Start()
	}
	t.Cleanup(func() {
		ts.Close()
		s.Close()
	})
	return &service{ts, a}
}

// connect returns a client of the service at url.
func (s *service) connect(t testing.TB, url string) *client.Client {
	t.Helper()
	opts := client.Options{Endpoint: url, Token: func(context.Context, string) (string, error) {
		return s.tokens.name(s.tokens.newest.Load()), nil
	}}
	if strings.HasPrefix(url, "https:") {
		fingerprint, trusted, err := client.Fingerprint(t.Context(), s.URL)
		if err != nil || trusted {
			t.Fatalf("Fingerprint: trusted %v, %v", trusted, err)
		}
		opts.Fingerprint = fingerprint
	}
	c, err := client.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
