// Package gatewaytest runs a service for tests of gateways.
package gatewaytest

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/namespace"
	"github.com/paddlecloud/pfs/pfs/server"
)

// The accounts of a Service: two users and an administrator, all with the same password.
const (
	Alice    = "alice@example.org"
	Bob      = "bob"
	Root     = "carol"
	Password = "correct horse"
)

// Datacenter is the name of the datacenter of a Service.
const Datacenter = "dc"

// Home returns the path of a user's home.
func Home(user string) pfs.Path { return pfs.Path("/pfs/" + Datacenter + "/home/" + user) }

// Service is a running service over one store, which is its only datacenter.
type Service struct {
	Auth   *auth.Service
	Server *server.Server
	Store  pfs.FileSystem
	Dir    string // of the accounts

	extensions map[string]server.Extension
	log        lockedBuffer
}

// New starts a service over store.
func New(t testing.TB, store pfs.FileSystem) *Service { return NewExtended(t, store, nil) }

// NewExtended starts a service with further methods over store.
func NewExtended(t testing.TB, store pfs.FileSystem, extensions map[string]server.Extension) *Service {
	t.Helper()
	dir := t.TempDir()
	first := open(t, store, dir, extensions)
	for name, role := range map[string]auth.Role{Alice: auth.User, Bob: auth.User, Root: auth.Admin} {
		if _, err := first.Auth.Accounts().Add(t.Context(), auth.NewAccount{Name: name, Password: Password, Role: role}); err != nil {
			t.Fatal(err)
		}
	}
	return first
}

// Replica starts another service with the same accounts over the same store.
func (s *Service) Replica(t testing.TB) *Service { return open(t, s.Store, s.Dir, s.extensions) }

func open(t testing.TB, store pfs.FileSystem, dir string, extensions map[string]server.Extension) *Service {
	t.Helper()
	s := &Service{Store: store, Dir: dir, extensions: extensions}
	logger := slog.New(slog.NewTextHandler(&s.log, nil))
	var err error
	if s.Auth, err = auth.Open(t.Context(), dir, auth.Options{Logger: logger}); err != nil {
		t.Fatal(err)
	}
	tree, err := namespace.New(namespace.Config{
		Datacenters: []namespace.Datacenter{{Name: Datacenter, FS: store}}, Account: s.Auth.Accounts().Identity, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.EnsureLayout(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Server = server.New(server.Config{
		Auth: s.Auth, View: tree.View, EnsureHome: tree.EnsureHome, Check: s.Auth.Check, Account: s.Auth.Accounts().Has,
		Datacenters: []string{Datacenter}, Current: Datacenter, Logger: logger,
		Extensions: extensions,
	})
	t.Cleanup(s.Server.Close)
	return s
}

// Log returns the log with the audit lines.
func (s *Service) Log() string { return s.log.String() }

// Open returns what begins sessions of a protocol.
func (s *Service) Open(protocol string) gateway.Open {
	return func(ctx context.Context, g auth.Grant, remote string) (gateway.Session, error) {
		x, err := s.Server.NewSession(ctx, g, protocol, remote)
		if err != nil {
			return nil, err
		}
		return x, nil
	}
}

// Session returns a session of user.
func (s *Service) Session(t testing.TB, user, protocol string) gateway.Session {
	t.Helper()
	account, err := s.Auth.Accounts().Get(user)
	if err != nil {
		t.Fatal(err)
	}
	x, err := s.Open(protocol)(t.Context(), auth.Grant{Account: account}, "192.0.2.1:1000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

// Answer is the answer to a request of HTTP.
type Answer struct {
	Code   int
	Header http.Header
	Body   string
}

// Ask sends a request to h as user, with the password, or without one if user is empty. header has names and values.
func Ask(t testing.TB, h http.Handler, method, target, user string, body io.Reader, header ...string) Answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, body)
	if user != "" {
		r.SetBasicAuth(user, Password)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return Answer{w.Code, w.Result().Header, w.Body.String()}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
