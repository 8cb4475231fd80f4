package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

// Session is the access of a user of another protocol, such as SFTP. All sessions of a user share the user's slots and turns.
// Sessions appear in the metrics and the audit log.
type Session struct {
	s                *Server
	grant            auth.Grant
	protocol, remote string
	tree             pfs.FileSystem
	end              func()
}

// NewSession begins a session of g at the address remote. ctx is for this call only. The caller calls Close.
func (s *Server) NewSession(ctx context.Context, g auth.Grant, protocol, remote string) (*Session, error) {
	if s.cfg.EnsureHome != nil {
		if err := s.cfg.EnsureHome(ctx, g.Identity); err != nil {
			return nil, err
		}
	}
	open := s.metrics.sessions.WithLabelValues(protocol)
	open.Inc()
	return &Session{
		s: s, grant: g, protocol: protocol, remote: remote,
		tree: s.cfg.View(g.Identity, ""), end: sync.OnceFunc(open.Dec),
	}, nil
}

// User returns the identity of the user.
func (x *Session) User() auth.Identity { return x.grant.Identity }

// FS returns the tree as the user sees it. Use it within Do or Change.
func (x *Session) FS() pfs.FileSystem { return x.tree }

// Check returns an error if the user's credentials are no longer valid.
func (x *Session) Check() error {
	if x.s.cfg.Check == nil {
		return nil
	}
	return x.s.cfg.Check(x.grant)
}

// Do executes one request of the user: an operation, or the transfer of one buffer. It checks the credentials, waits for a slot,
// and calls do with a context that has the user's turns. do must not wait for the client, and must not call Do.
func (x *Session) Do(ctx context.Context, method string, do func(ctx context.Context) error) error {
	began := time.Now()
	err := x.do(ctx, do)
	m := x.s.metrics
	m.gatewayRequests.WithLabelValues(x.protocol, method, result(err)).Inc()
	m.seconds.WithLabelValues(x.protocol + "-" + method).Observe(time.Since(began).Seconds())
	if err != nil {
		x.failed(method, err)
	}
	return err
}

func (x *Session) do(ctx context.Context, do func(ctx context.Context) error) error {
	if err := x.Check(); err != nil {
		return err
	}
	end, err := x.s.requests.acquire(ctx, x.grant.Name)
	if err != nil {
		return err
	}
	defer end()
	return pfs.Guard("server.Session", "", func() error { return do(pfs.WithTurns(ctx, x.s.turnsOf(x.grant.Name))) })
}

// Turn waits for the user's turn to use a processor, for computations outside Do, such as decryption. The next turn starts after a
// millisecond at the latest. The caller calls end once.
func (x *Session) Turn(ctx context.Context) (end func(), err error) {
	return x.s.turnsOf(x.grant.Name)(ctx)
}

// Change is Do for a request that changes something. fields, such as "path" and a path, are for its audit line.
func (x *Session) Change(ctx context.Context, method string, do func(ctx context.Context) error, fields ...any) error {
	err := x.Do(ctx, method, do)
	x.Audit(ctx, method, err, fields...)
	return err
}

// transfers bounds the bodies and files in transit in all sessions, each of which has a buffer; a user gets a quarter.
const transfers = 256

// Transfer waits for a slot for a body or a file in transit. The caller calls end once.
func (x *Session) Transfer(ctx context.Context) (end func(), err error) {
	return x.s.content.acquire(ctx, x.grant.Name)
}

// Audit writes an audit line about an event that is not a single Change, such as the beginning of a session.
func (x *Session) Audit(ctx context.Context, method string, err error, fields ...any) {
	args := append([]any{"user", x.grant.Name, "remote", x.remote, "method", method, "result", result(err), "protocol", x.protocol}, fields...)
	x.s.cfg.Audit.Log(ctx, slog.LevelInfo, "audit", args...)
}

// Moved counts bytes that were received and sent.
func (x *Session) Moved(received, sent int64) {
	x.s.metrics.received.Add(float64(received))
	x.s.metrics.sent.Add(float64(sent))
}

// Close ends the session.
func (x *Session) Close() { x.end() }

// failed counts err, and logs it if an operator should know.
func (x *Session) failed(method string, err error) {
	kind := pfs.KindOf(err)
	level := slog.LevelDebug
	if kind == pfs.Other || kind == pfs.Integrity {
		level = slog.LevelError
	}
	x.s.cfg.Logger.Log(context.Background(), level, "request failed", "request", x.protocol+" "+method,
		"remote", x.remote, "user", x.grant.Name, "kind", kind.Error(), "error", pfs.Detail(err))
	x.s.metrics.failed(kind)
}

// AuditLogin writes the audit line of a login at another protocol. It names only users who exist, because
// people type passwords where the name belongs.
func (s *Server) AuditLogin(ctx context.Context, protocol, user, remote string, err error) {
	if err != nil && (s.cfg.Account == nil || !s.cfg.Account(user)) {
		user = unknown
	}
	s.cfg.Audit.Log(ctx, slog.LevelInfo, "audit", "user", user, "remote", remote, "method", "login", "result", result(err), "protocol", protocol)
}

// result is the word for the outcome of a request.
func result(err error) string {
	if err != nil {
		return pfs.KindOf(err).Error()
	}
	return "ok"
}
