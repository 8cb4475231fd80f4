// Package server serves a tree of files over HTTP by the protocol of package wire.
//
// A Server keeps no state that another replica over the same stores would need: the user is in the
// token, and uploads are in the store. Its state in memory (open files, uploads and handles, digests
// of chunks, outcomes of recent calls) only saves work.
//
// Memory does not depend on the size of files. A chunk that is sent, received or read back
// passes through one buffer of pieceSize. A chunk for a handle is held whole and counts as a
// written batch. A batch holds all of its MaxBatchBytes; at most a dozen batches are read and
// a dozen are written at a time. Copies between stores share copyMemory, of which each user
// has a part. The number of requests in progress is limited, in total and for each user.
// Messages are small (wire.MaxRequest) and are read before a request takes a slot. The
// messages that lead batches may be larger and have a limit of their own.
//
// # Files
//
//	server, slots, body              the way of a request; slots; bounds for slow clients
//	login                            tokens
//	calls, attrcalls, lateanswer,    the table of calls; calls on attributes; answers that take long;
//	dedup, senders                   calls that must not be executed twice, or after those of a newer process
//	data, dataanswer, openfiles      reads and writes of chunks; files that stay open between them
//	opencache                        the cache of open files, uploads and handles
//	handle, handlecalls              files that clients open with a lease
//	upload, uploadcache,             uploads
//	uploadcalls, uploadfile, staging
//	batch, readbatch, batchbounds    many small files in one request
//	copy, copybatch                  copies inside the service, within a store and between stores
//	extension                        methods of other parts of the service
//	session                          users of other protocols
//	audit, health, metrics           the audit log, health checks, metrics
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/fair"
	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// Authenticator authenticates users. auth.Service is one. Refusals are of Kind Unauthenticated, or
// Limit after too many attempts.
type Authenticator interface {
	Login(ctx context.Context, user, password, remote string) (auth.Tokens, error)
	Refresh(ctx context.Context, refresh, remote string) (auth.Tokens, error)
	Logout(ctx context.Context, refresh string) (user string, err error) // user may be empty
	Verify(ctx context.Context, access string) (auth.Identity, error)
}

// Config is the configuration of a Server. Fields without a stated default are required.
type Config struct {
	Auth Authenticator

	// View returns the tree that the identity may see; alias is the client's name for the
	// current datacenter, or empty.
	View func(id auth.Identity, alias string) pfs.FileSystem

	// EnsureHome creates the home of a user before the first request. Default: nothing.
	EnsureHome func(ctx context.Context, id auth.Identity) error

	// Account reports whether an account of that name exists, so that the audit log can
	// name it after a failed login. Default: no account is named.
	Account func(name string) bool

	// Check returns an error once a grant of a Session is no longer valid. Default: grants stay valid.
	Check func(g auth.Grant) error

	// Down returns the names of the Datacenters that cannot be used now. Default: none.
	Down func(ctx context.Context) []string

	Datacenters []string
	Current     string
	Version     string // of the program

	// Extensions are methods of other parts of the service, by name.
	Extensions map[string]Extension

	Logger *slog.Logger // default: discard
	Audit  *slog.Logger // one line for every change; default: Logger

	// MaxRequests bounds the requests in progress, a quarter of them for one user.
	// Further requests wait for a few seconds and are then answered Limit.
	// Default 256. Logins and batches have bounds of their own.
	MaxRequests int

	// MaxHandles bounds the handles that are open at one time, a quarter of them of one
	// user; OpenHandle of more answers Limit. Default 4096.
	MaxHandles int
}

// Server is an http.Handler. Close suspends the uploads, and closes the files, that it holds
// open.
type Server struct {
	cfg      Config
	mux      *http.ServeMux
	uploads  *uploadCache
	files    *openFiles
	handles  *handles
	once     *dedupCache
	written  *dedupCache // of chunks that are written to handles
	requests *slots      // by user
	reads    *queue      // batches that are read
	writes   *queue      // batches that are written
	logins   *slots      // by address
	extended *slots      // of extensions, by user: they may last for hours
	content  *slots      // of sessions, by user: bodies and files in transit
	copies   *budgets
	copying  *slots // by the copy, one for each
	senders  *senders
	turns    *fair.Queue
	metrics  *metrics

	readiness *readiness
	instance  string // differs from that of any other server
}

// New returns a Server.
func New(cfg Config) *Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Audit == nil {
		cfg.Audit = cfg.Logger
	}
	if cfg.MaxRequests <= 0 {
		cfg.MaxRequests = 256
	}
	if cfg.MaxHandles <= 0 {
		cfg.MaxHandles = 4096
	}
	s := &Server{
		cfg: cfg, mux: http.NewServeMux(), uploads: newUploadCache(), files: newOpenFiles(), once: newDedupCache(), written: newDedupCache(),
		requests: newSlots(cfg.MaxRequests, cfg.MaxRequests/4),
		reads:    newQueue(),
		writes:   newQueue(),
		logins:   newSlots(logins, logins/4),
		extended: newSlots(cfg.MaxRequests, cfg.MaxRequests/4),
		content:  newSlots(transfers, transfers/4),
		copies:   newBudgets(),
		copying:  newSlots(cfg.MaxRequests, 1),
		senders:  newSenders(),
		turns:    newTurns(),

		readiness: &readiness{turn: make(chan struct{}, 1)},
		instance:  pfs.NewID()[:12],
	}
	s.handles = newHandles(cfg.MaxHandles, cfg.Logger)
	s.metrics = newMetrics(s)
	s.routes()
	return s
}

func (s *Server) routes() {
	s.mux.HandleFunc("GET /healthz", s.health)
	s.mux.HandleFunc("GET /readyz", s.ready)
	s.mux.HandleFunc("GET "+wire.PathService, s.service)
	s.mux.HandleFunc("POST "+wire.PathLogin, anonymous(s, s.login))
	s.mux.HandleFunc("POST "+wire.PathRefresh, anonymous(s, s.refresh))
	s.mux.HandleFunc("POST "+wire.PathLogout, anonymous(s, s.logout))
	s.mux.HandleFunc("GET "+wire.PathData, s.authenticated(s.withSlot(s.requests, s.getData)))
	s.mux.HandleFunc("PUT "+wire.PathData, s.authenticated(s.withSlot(s.requests, s.putData)))
	s.mux.HandleFunc("PUT "+wire.PathWrite, s.authenticated(s.putWrite))
	s.mux.HandleFunc("POST "+wire.PathBatch, s.authenticated(s.audited("batch", s.batch)))
	s.mux.HandleFunc("POST "+wire.PathRead, s.authenticated(s.readBatch))
	s.mux.HandleFunc("POST "+wire.PathCopy, s.authenticated(s.audited("copy-batch", s.copyBatch)))
	for method, call := range s.calls() {
		s.mux.HandleFunc("POST "+wire.PathCall+method, s.authenticated(s.serveCall(method, call)))
	}
	for method, e := range s.cfg.Extensions {
		s.mux.HandleFunc("POST "+wire.PathCall+method, s.authenticated(s.serveExtension(method, e)))
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, pfs.Errorf("server.route", "", pfs.Unsupported, "%s %q is not a request of protocol %d", r.Method, r.URL.Path, wire.Version))
	})
}

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	r = pace.Begin(w, r)
	rec, body := &recorder{ResponseWriter: w}, &meteredBody{ReadCloser: r.Body}
	r.Body = body
	rec.Header().Set(wire.HeaderProtocol, strconv.Itoa(wire.Version))
	defer func() {
		p := recover()
		if p != nil && p != http.ErrAbortHandler {
			s.cfg.Logger.Error("panic", "request", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			if rec.status == 0 {
				p = nil
				s.fail(rec, r, pfs.Errorf("server.ServeHTTP", "", pfs.Other, "the service failed on this request; its log says how"))
			}
		}
		s.metrics.observe(r, body, rec, time.Since(began))
		if p != nil {
			panic(http.ErrAbortHandler) // net/http cuts the connection, so that the answer does not look whole
		}
	}()
	if v := r.Header.Get(wire.HeaderProtocol); v != "" && v != strconv.Itoa(wire.Version) {
		s.fail(rec, r, pfs.Errorf("server.ServeHTTP", "", pfs.Unsupported,
			"the client speaks protocol %.20q, this service protocol %d: use a client of this service's version", v, wire.Version))
		return
	}
	s.mux.ServeHTTP(rec, r)
}

// Close suspends the uploads, and closes the files and handles, that the server holds open.
// Requests must have ended (http.Server.Shutdown).
func (s *Server) Close() {
	s.uploads.closeAll()
	s.files.closeAll()
	s.handles.closeAll()
}

// corkKey is the context key of a connection's cork.
type corkKey struct{}

// ConnContext is for http.Server. With it, and with a wire.CorkListener below TLS, a chunk goes
// out in few writes. Both are optional, for speed.
func (s *Server) ConnContext(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if cork, ok := c.(*wire.Cork); ok {
		return context.WithValue(ctx, corkKey{}, cork)
	}
	return ctx
}

// request is an authenticated request.
type request struct {
	*http.Request
	id      auth.Identity
	tree    pfs.FileSystem // from begin on
	audit   []any          // fields of the audit line
	quiet   bool           // the call changes nothing, and leaves no audit line
	changes bool           // it may change something
}

// handler serves an authenticated request. Its error is the answer.
type handler func(w http.ResponseWriter, r *request) error

// authenticated checks the access token before it calls h.
func (s *Server) authenticated(h handler) http.HandlerFunc {
	return s.answering(func(w http.ResponseWriter, r *http.Request) error {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok {
			return pfs.Errorf("server.authenticated", "", pfs.Unauthenticated, "the request carries no access token")
		}
		id, err := s.cfg.Auth.Verify(r.Context(), token)
		if err != nil {
			return err
		}
		r = r.WithContext(pfs.WithTurns(r.Context(), s.turnsOf(id.Name)))
		w.Header().Set(wire.HeaderRequests, strconv.Itoa(s.requests.share))
		w.Header().Set(wire.HeaderInstance, s.instance)
		w.Header().Set(wire.HeaderBatches, strconv.Itoa(s.writes.work.share))
		return h(w, &request{Request: r, id: id})
	})
}

// answering makes a handler that answers the error of h.
func (s *Server) answering(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	}
}

// audited makes a handler that also leaves a line in the audit log if h fails.
func (s *Server) audited(method string, h handler) handler {
	return func(w http.ResponseWriter, r *request) error {
		err := h(w, r)
		if err != nil {
			s.audit(r.Request, r.id.Name, method, err)
		}
		return err
	}
}

// begin waits for a slot for the request and sets its user's tree. Messages are read before, so
// a request with a slot waits for stores, not for its sender. The caller calls end once.
func (s *Server) begin(r *request, in *slots) (end func(), err error) {
	end, err = in.acquire(r.Context(), r.id.Name)
	if err != nil {
		return nil, err
	}
	return s.prepare(r, end)
}

// prepare sets the user's tree of a request that has a slot, until end is called.
func (s *Server) prepare(r *request, end func()) (func(), error) {
	if s.cfg.EnsureHome != nil {
		if err := s.cfg.EnsureHome(r.Context(), r.id); err != nil {
			end()
			return nil, err
		}
	}
	r.tree = s.cfg.View(r.id, r.Header.Get(wire.HeaderDatacenter))
	if !r.changes && r.Method != http.MethodPut {
		return end, nil
	}
	leave, err := s.senders.enter(r.Context(), r.id.Name, r.Header.Get(wire.HeaderSender))
	if err != nil {
		end()
		return nil, err
	}
	return func() {
		leave()
		end()
	}, nil
}

// withSlot makes a handler that calls h once the request has a slot and a tree.
func (s *Server) withSlot(in *slots, h handler) handler {
	return func(w http.ResponseWriter, r *request) error {
		end, err := s.begin(r, in)
		if err != nil {
			return err
		}
		defer end()
		return h(w, r)
	}
}

// fail answers err.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.failed(r, err)
	s.refuse(w, err)
}

// refuse answers err, which is already logged.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	giveUp(w)
	kind := pfs.KindOf(err)
	if kind == pfs.Limit || kind == pfs.Unavailable {
		w.Header().Set("Retry-After", strconv.Itoa(auth.SecondsToWait(err)))
	}
	s.reply(w, wire.StatusOf(kind), wire.NewError(err))
}

// failed counts err, and logs it.
func (s *Server) failed(r *http.Request, err error) {
	kind := pfs.KindOf(err)
	level, what := slog.LevelDebug, "request failed"
	if kind == pfs.Other || kind == pfs.Integrity {
		level = slog.LevelError
	}
	if as := new(notKept); errors.As(err, &as) {
		level, what = slog.LevelInfo, "not all is there that was staged before, as after a kill: it is sent again"
	}
	s.failedAt(level, what, r, err)
}

// failedAt is failed with a log level and a message.
func (s *Server) failedAt(level slog.Level, what string, r *http.Request, err error) {
	kind := pfs.KindOf(err)
	s.cfg.Logger.Log(r.Context(), level, what, "request", r.Method+" "+r.URL.Path, "remote", r.RemoteAddr, "kind", kind.Error(), "error", pfs.Detail(err))
	s.metrics.failed(kind)
}

// reply answers a message.
func (s *Server) reply(w http.ResponseWriter, status int, message any) {
	s.replyEncoded(w, status, wire.Encode(message))
}

func (s *Server) replyEncoded(w http.ResponseWriter, status int, b []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(pace.Stall))
	h := w.Header()
	h.Set("Content-Type", wire.TypeMessage)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client has left
}
