// Package webdav is a gateway: it serves the tree of files over WebDAV (RFC 4918, classes 1 and 2), for file managers
// and for programs such as rclone.
//
// A path below the prefix is the path in the tree: PREFIX/pfs/dc/home/alice/f is /pfs/dc/home/alice/f. Users
// authenticate each request, with name and password (Basic) or with an access token (Bearer).
//
// golang.org/x/net/webdav parses conditions, locks and the XML of LOCK and PROPPATCH, and calls the tree of the
// request (tree.go), whose operations are those of this project. PROPFIND and GET are served here, because for them
// x/net/webdav would hold whole directories in memory and answer every error as "not found".
//
// PUT is an upload: the file appears whole or not at all, and an interrupted upload leaves nothing. COPY and MOVE
// work inside the service; a replaced target disappears only when the new one is complete. PROPFIND answers a
// directory page by page and refuses Depth: infinity. Locks are held by one replica, and advisory: they bind WebDAV
// clients only. Links are shown as their targets; dangling links are left out.
//
// # Files
//
//	webdav, answer    requests and their answers
//	tree, replace     operations: names, directories, moves and copies
//	upload, download  uploads, downloads, and bounds for slow clients
//	propfind, props   properties
//	locks             locks of users
package webdav

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/net/webdav"
)

// Config is the configuration of a Handler. All fields are required.
type Config struct {
	Prefix string // of the paths in URLs, such as "/dav"
	Auth   gateway.Authenticator
	Open   gateway.Open

	// Refused is called when the name and password of a request are refused.
	Refused func(ctx context.Context, user, remote string, err error)
}

// Handler is an http.Handler.
type Handler struct {
	cfg   Config
	locks *locks
}

// New returns a Handler.
func New(cfg Config) *Handler {
	return &Handler{cfg: cfg, locks: newLocks()}
}

// maxXML bounds the body of a request that is XML. Parsers nest no deeper than this many bytes allow.
const maxXML = 16 << 10

// methods are the methods that are served.
const methods = "OPTIONS, GET, HEAD, PUT, DELETE, MKCOL, COPY, MOVE, PROPFIND, PROPPATCH, LOCK, UNLOCK"

// request is an authenticated request.
type request struct {
	*http.Request
	h       *Handler
	session gateway.Session
	name    pfs.Path
	target  pfs.Path // of COPY and MOVE
	failed  error    // the error of the tree that decides the status, if x/net/webdav chose another
}

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A file must not run as a page of the service, whatever its name and content are.
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	if err := h.serve(w, pace.Begin(w, r)); err != nil {
		refuse(w, err)
	}
}

// serve serves r, or returns an error before the answer has begun.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) error {
	grant, _, err := gateway.Authenticate(r, h.cfg.Auth, h.cfg.Refused)
	if err != nil {
		return err
	}
	q := &request{Request: r, h: h}
	if q.name, err = h.path(r.URL.Path); err != nil {
		return err
	}
	if q.session, err = h.cfg.Open(r.Context(), grant, r.RemoteAddr); err != nil {
		return err
	}
	defer q.session.Close()
	switch r.Method {
	case http.MethodOptions:
		return q.options(w)
	case http.MethodGet, http.MethodHead:
		return q.get(w)
	case "PROPFIND":
		return q.propfind(w)
	case http.MethodPut:
		return q.put(w)
	case "DELETE", "MKCOL", "COPY", "MOVE", "PROPPATCH", "LOCK", "UNLOCK":
		return q.change(w)
	}
	w.Header().Set("Allow", methods)
	return &statusError{http.StatusMethodNotAllowed, pfs.Errorf("webdav.serve", "", pfs.Unsupported, "%.20q is not a method of this gateway", r.Method)}
}

// path returns the path in the tree of a path in a URL. One slash at the end marks a directory.
func (h *Handler) path(p string) (pfs.Path, error) {
	rest, ok := strings.CutPrefix(p, h.cfg.Prefix)
	if !ok || rest != "" && rest[0] != '/' {
		return "", pfs.Errorf("webdav.path", "", pfs.Invalid, "the path %.80q does not begin with %s/", p, h.cfg.Prefix)
	}
	if rest == "" || rest == "/" {
		return pfs.Root, nil
	}
	return pfs.ParsePath(strings.TrimSuffix(rest, "/"))
}

// url returns the path in URLs of a path in the tree, escaped.
func (h *Handler) url(name pfs.Path) string {
	return (&url.URL{Path: path.Join(h.cfg.Prefix, string(name))}).EscapedPath()
}

func (q *request) options(w http.ResponseWriter) error {
	w.Header().Set("Allow", methods)
	w.Header().Set("DAV", "1, 2")
	w.Header().Set("MS-Author-Via", "DAV") // Windows asks for it
	w.WriteHeader(http.StatusOK)
	return nil
}

// change serves a method whose conditions and locks x/net/webdav reads.
func (q *request) change(w http.ResponseWriter) error {
	if q.ContentLength > maxXML {
		return &statusError{http.StatusRequestEntityTooLarge, pfs.Errorf("webdav.change", q.name, pfs.Invalid,
			"a body of %d bytes, the limit is %d", q.ContentLength, maxXML)}
	}
	q.Body = http.MaxBytesReader(w, gateway.NewBody(w, q.Request), maxXML)
	return q.delegate(w)
}

// delegate checks what the user may do, and has x/net/webdav carry out the method on the tree of q.
func (q *request) delegate(w http.ResponseWriter) error {
	if q.Method == "COPY" || q.Method == "MOVE" {
		if err := q.readDestination(); err != nil {
			return err
		}
	}
	// The access is checked first: the locks in a directory that a user may not enter would tell what is in it.
	if err := q.checkAccess(); err != nil {
		return err
	}
	if err := q.checkConditions(); err != nil {
		return err
	}
	r := q.Clone(q.Context())
	r.Body = q.Body
	r.URL.Path = path.Join(q.h.cfg.Prefix, string(q.name))
	if q.target != "" {
		r.Header.Set("Destination", q.h.url(q.target))
		if r.Header.Get("Overwrite") == "" {
			r.Header.Set("Overwrite", "T")
		}
	}
	if q.Method == "LOCK" {
		r.Header.Set("Timeout", timeout(r.Header.Get("Timeout")))
	}
	(&webdav.Handler{
		Prefix: q.h.cfg.Prefix, FileSystem: tree{q}, LockSystem: q.h.locks.of(q),
	}).ServeHTTP(&answer{ResponseWriter: w, q: q}, r)
	return nil
}

// checkAccess answers the error with which the user would be refused the method.
func (q *request) checkAccess() error {
	return q.session.Do(q.Context(), "access", func(ctx context.Context) error {
		access := map[string]pfs.Access{"DELETE": pfs.Delete, "MOVE": pfs.Delete, "MKCOL": pfs.Make, "COPY": pfs.Lookup}
		a, ok := access[q.Method]
		if !ok {
			a = pfs.Write
		}
		if err := pfs.CheckAccess(ctx, q.session.FS(), a, q.name); err != nil || q.target == "" {
			return err
		}
		return pfs.CheckAccess(ctx, q.session.FS(), pfs.Write, q.target)
	})
}

// checkConditions refuses a change if If-Match does not match the existing file, or If-None-Match does.
func (q *request) checkConditions() error {
	match, none := q.Header.Get("If-Match"), q.Header.Get("If-None-Match")
	if match == "" && none == "" {
		return nil
	}
	info, err := q.stat(q.name)
	if err != nil && !is(err, pfs.NotExist) {
		return err
	}
	there := err == nil
	named := func(tags string) bool {
		list := strings.FieldsFunc(tags, func(c rune) bool { return c == ',' || c == ' ' })
		return there && (tags == "*" || slices.Contains(list, gateway.ETag(info)))
	}
	if match != "" && !named(match) || none != "" && named(none) {
		return pfs.Errorf("webdav.checkConditions", q.name, pfs.Conflict, "it is not what If-Match or If-None-Match asks for")
	}
	return nil
}

// readDestination sets the target of a COPY or a MOVE.
func (q *request) readDestination() error {
	const op = "webdav.readDestination"
	u, err := url.Parse(q.Header.Get("Destination"))
	switch {
	case err != nil || u.Path == "":
		return pfs.Errorf(op, q.name, pfs.Invalid, "the request needs a valid header Destination")
	case u.Host != "" && u.Host != q.Host:
		return &statusError{http.StatusBadGateway, pfs.Errorf(op, q.name, pfs.CrossStore, "the destination is at %.80q, and this is %s", u.Host, q.Host)}
	}
	if q.target, err = q.h.path(u.Path); err != nil {
		return err
	}
	if q.target.Within(q.name) || q.name.Within(q.target) {
		return &statusError{http.StatusForbidden, pfs.Errorf(op, q.target, pfs.Invalid, "source and destination are the same, or one is in the other")}
	}
	return nil
}

// do is Do of the session.
func (q *request) do(method string, do func(ctx context.Context, fsys pfs.FileSystem) error) error {
	return q.session.Do(q.Context(), method, func(ctx context.Context) error { return do(ctx, q.session.FS()) })
}

// audited is Change of the session, for the path name.
func (q *request) audited(method string, name pfs.Path, do func(ctx context.Context, fsys pfs.FileSystem) error, fields ...any) error {
	return q.session.Change(q.Context(), method, func(ctx context.Context) error { return do(ctx, q.session.FS()) },
		append([]any{"path", name}, fields...)...)
}

// is reports whether err is of one of the kinds.
func is(err error, kinds ...pfs.Kind) bool {
	for _, k := range kinds {
		if errors.Is(err, k) {
			return true
		}
	}
	return false
}
