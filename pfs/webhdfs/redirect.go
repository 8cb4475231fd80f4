package webhdfs

import (
	"crypto/hmac"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

// The parameters of a redirect, besides those of the request that it answers.
const (
	paramUser      = "pfs-user"
	paramExpires   = "pfs-expires"
	paramSession   = "pfs-session"
	paramVersion   = "pfs-version"
	paramSignature = "pfs-signature"
)

const (
	// redirectLife is how long the second step may begin. Some clients (fsspec) append to a file
	// for as long as they write, at the address of the first APPEND.
	redirectLife = time.Hour
	// purpose distinguishes signatures of redirects from others with the same key.
	purpose = "webhdfs redirect"
)

// unsigned are parameters that a redirect does not carry. Clients may add them in the second step.
var unsigned = []string{"user.name", "doas", "delegation", "noredirect", paramSignature}

// redirect answers with the address of the second step. version is that of the file, for CREATE.
func (c *call) redirect(version string) (answer, error) {
	noRedirect, err := c.params.yes("noredirect", false)
	if err != nil {
		return answer{}, err
	}
	q := c.signedParams()
	q.Set(paramUser, c.user.Name)
	expires := c.now().Add(redirectLife)
	if e := c.user.Expires; !e.IsZero() && e.Before(expires) {
		expires = e
	}
	q.Set(paramExpires, strconv.FormatInt(expires.Unix(), 10))
	q.Set(paramSession, c.user.Session) // also if it is empty, so that it is never what the client sent
	q.Set(paramVersion, version)
	q.Set(paramSignature, c.signature(c.user, q))
	u := url.URL{Scheme: gateway.Scheme(c.r), Host: c.host(), Path: c.r.URL.Path, RawPath: c.r.URL.RawPath, RawQuery: q.Encode()}
	if noRedirect {
		return answer{body: named("Location", u.String())}, nil
	}
	return answer{status: http.StatusTemporaryRedirect, location: u.String()}, nil
}

// host returns the address by which the client reached this service.
func (c *call) host() string {
	if c.r.Host != "" {
		return c.r.Host
	}
	if a, ok := c.r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return a.String()
	}
	return "localhost"
}

// signedParams returns the parameters that the signature covers.
func (c *call) signedParams() url.Values {
	q := url.Values{}
	for name, v := range c.params {
		q[name] = v
	}
	for _, name := range unsigned {
		q.Del(name)
	}
	return q
}

func (c *call) signature(g auth.Grant, q url.Values) string {
	message := c.r.Method + "\n" + c.r.URL.Path + "\n" + q.Encode()
	return base64.RawURLEncoding.EncodeToString(c.cfg.Auth.Sign(purpose, g, []byte(message)))
}

// checkRedirect returns the user for whom the address was signed.
func (c *call) checkRedirect() (auth.Grant, error) {
	refused := forbidden(accessControl, "the address of this %s is not valid: begin again without its parameters pfs-*", c.op.name)
	if c.op.name != "CREATE" && c.op.name != "APPEND" {
		return auth.Grant{}, refused
	}
	g, err := c.cfg.Auth.Account(c.params.text(paramUser))
	if isKind(err, pfs.NotExist) {
		return auth.Grant{}, refused
	}
	if err != nil {
		return auth.Grant{}, err
	}
	if !hmac.Equal([]byte(c.signature(g, c.signedParams())), []byte(c.params.text(paramSignature))) {
		return auth.Grant{}, refused
	}
	expires, err := strconv.ParseInt(c.params.text(paramExpires), 10, 64)
	if err != nil || !c.now().Before(time.Unix(expires, 0)) {
		return auth.Grant{}, forbidden(accessControl, "the address of this %s has expired: begin again without its parameters pfs-*", c.op.name)
	}
	g.Session = c.params.text(paramSession)
	if err = c.cfg.Auth.CheckSession(g); isKind(err, pfs.Unauthenticated) {
		err = forbidden(accessControl, "the session that asked for the address of this %s has ended: log in, and begin again without its parameters pfs-*", c.op.name)
	}
	return g, err
}
