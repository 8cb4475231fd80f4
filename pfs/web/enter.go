package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// The cookies of a session. The prefix makes browsers refuse them from other hosts and without Secure.
const (
	accessCookie  = "__Host-pfs-access"
	refreshCookie = "__Host-pfs-refresh"
)

// csrfField is the name of the token of a session in forms, csrfHeader in requests of the script.
const (
	csrfField  = "csrf"
	csrfHeader = "Pfs-Csrf"
)

// visit is a request of a user who is logged in.
type visit struct {
	*http.Request
	w       http.ResponseWriter
	session gateway.Session
	grant   auth.Grant
	shared  bool   // it comes by a link of the user's
	access  string // token
	refresh string // token
	csrf    string
}

// handle serves requests for pattern by do, which gets the path that the address ends with. The error of do is the
// answer.
func (x *Web) handle(pattern string, do func(v *visit, name pfs.Path) error) {
	x.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		err := x.visited(w, r, do)
		switch {
		case errors.Is(err, errCut):
			panic(http.ErrAbortHandler)
		case errors.Is(err, pfs.Unauthenticated) && r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/ui/send/"):
			x.toLogin(w, r)
		case err != nil:
			x.fail(w, r, err)
		}
	})
}

func (x *Web) visited(w http.ResponseWriter, r *http.Request, do func(*visit, pfs.Path) error) error {
	if err := checkOrigin(r); err != nil {
		return err
	}
	v, err := x.enter(w, r)
	if err != nil {
		return err
	}
	defer v.session.Close()
	name, err := pathOf(r)
	if err == nil {
		err = v.checkToken(r)
	}
	if err != nil {
		return err
	}
	return do(v, name)
}

// pathOf returns the path that the address ends with.
func pathOf(r *http.Request) (pfs.Path, error) {
	return pfs.ParsePath("/" + strings.TrimSuffix(r.PathValue("path"), "/"))
}

// enter finds the session of the cookies. It renews an access token that has expired.
func (x *Web) enter(w http.ResponseWriter, r *http.Request) (*visit, error) {
	v := &visit{Request: r, w: w, access: cookie(r, accessCookie), refresh: cookie(r, refreshCookie)}
	if v.refresh == "" {
		return nil, pfs.Errorf("web.enter", "", pfs.Unauthenticated, "log in at /ui/")
	}
	var err error
	v.grant, err = x.cfg.Auth.AuthenticateToken(r.Context(), v.access)
	if errors.Is(err, pfs.Unauthenticated) {
		var t wire.Tokens
		if err = x.call(r, wire.PathRefresh, "", wire.RefreshRequest{Refresh: v.refresh}, &t); err == nil {
			v.access = t.Access
			setCookie(w, accessCookie, t.Access, t.Expires.Time())
			v.grant, err = x.cfg.Auth.AuthenticateToken(r.Context(), v.access)
		}
		if errors.Is(err, pfs.NotExist) { // the account was removed
			err = pfs.Errorf("web.enter", "", pfs.Unauthenticated, "the account was removed")
		}
	}
	if err != nil {
		return nil, err
	}
	v.csrf = csrfOf(v.refresh)
	v.session, err = x.cfg.Open(r.Context(), v.grant, r.RemoteAddr)
	return v, err
}

// csrfOf returns the token that the pages of a session have.
func csrfOf(refresh string) string {
	sum := sha256.Sum256([]byte("csrf " + refresh))
	return hex.EncodeToString(sum[:16])
}

// checkOrigin refuses a change that another site asks for. Every browser says where such a request comes from.
func checkOrigin(r *http.Request) error {
	const op = "web.checkOrigin"
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == "" {
		return pfs.Errorf(op, "", pfs.Permission, "the request does not say which site it comes from: use paddlectl in scripts")
	}
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return pfs.Errorf(op, "", pfs.Permission, "the request comes from another site")
	}
	return nil
}

// checkToken refuses a change without the token of the session. The form of upload has it in its first part, which upload
// checks.
func (v *visit) checkToken(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || strings.HasPrefix(r.URL.Path, "/ui/upload/") {
		return nil
	}
	token := r.Header.Get(csrfHeader)
	if token == "" {
		r.Body = http.MaxBytesReader(v.w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			return pfs.Errorf("web.checkToken", "", pfs.Invalid, "the form cannot be read, or is longer than %d bytes", maxForm)
		}
		v.bodyEnds()
		token = r.PostForm.Get(csrfField)
	}
	return v.isToken(token)
}

// maxForm bounds a form without files: the names of a page of entries.
const maxForm = 2 << 20

// bodyEnds removes the deadline for the body, which was read. net/http continues to read, to notice that the browser
// left, and would take an expired deadline for that.
func (v *visit) bodyEnds() { _ = http.NewResponseController(v.w).SetReadDeadline(time.Time{}) }

func (v *visit) isToken(token string) error {
	if subtle.ConstantTimeCompare([]byte(token), []byte(v.csrf)) != 1 {
		return pfs.Errorf("web.checkToken", "", pfs.Permission, "the page is of another session: reload it")
	}
	return nil
}

// toLogin sends the browser to the login. A visit that begins at a link of another site comes without cookies; a
// reload has them.
func (x *Web) toLogin(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" && cookie(r, refreshCookie) == "" {
		x.render(w, http.StatusOK, "bounce", r.URL.RequestURI())
		return
	}
	http.Redirect(w, r, "/ui/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
}

// cookie returns the value of a cookie of the request, or "".
func cookie(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// setCookie sets a cookie until a time; an empty value removes it.
func setCookie(w http.ResponseWriter, name, value string, until time.Time) {
	c := &http.Cookie{Name: name, Value: value, Path: "/", Expires: until, Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}
