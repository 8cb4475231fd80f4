package webhdfs

import (
	"net/http"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

// authenticate finds out who asks: by the signature of a redirect, a delegation token, the header Authorization, or
// user.name if the configuration trusts it.
func (c *call) authenticate() (err error) {
	if c.params.text(paramSignature) != "" {
		if c.user, err = c.checkRedirect(); err != nil {
			return err
		}
		c.signed = true
		return nil
	}
	if c.user, err = c.credentials(); err != nil {
		return err
	}
	if as := c.params.text("doas"); as != "" && as != c.user.Name && as != c.user.HDFSUser {
		return forbidden(unauthorized, "User: %s is not allowed to impersonate %.80s", c.user.Name, as)
	}
	return nil
}

func (c *call) credentials() (auth.Grant, error) {
	name := c.params.text("user.name")
	if token := c.params.text("delegation"); token != "" && c.op.name != "GETDELEGATIONTOKEN" {
		return c.delegated(token)
	}
	if c.r.Header.Get("Authorization") != "" {
		g, byToken, err := gateway.Authenticate(c.r, c.cfg.Auth, c.cfg.Refused)
		if err == nil && byToken && c.op.name == "GETDELEGATIONTOKEN" { // it would outlast the access token
			err = forbidden(ioException, "Delegation Token can be issued only with a password or a trusted user.name")
		}
		if err == nil && name != "" && name != g.Name && name != g.HDFSUser {
			err = forbidden(ioException, "Usernames not matched: name=%.80s != expected=%s", name, g.Name)
		}
		return g, err
	}
	if token := c.params.text("token"); token != "" && (c.op.name == "RENEWDELEGATIONTOKEN" || c.op.name == "CANCELDELEGATIONTOKEN") {
		return c.delegated(token)
	}
	if name == "" || !c.cfg.TrustUserName {
		return auth.Grant{}, exception{unauthenticated, "Authentication required: log in with a user name and a password (HTTP Basic), a bearer token or a delegation token", http.StatusUnauthorized}
	}
	g, err := c.trusted(name)
	if err != nil {
		c.cfg.Refused(c.r.Context(), name, c.r.RemoteAddr, pfs.E("webhdfs.credentials", "", pfs.Unauthenticated, err))
	}
	return g, err
}

// trusted returns the account of a user who is believed. Administrators are not, because everybody could be one.
func (c *call) trusted(name string) (auth.Grant, error) {
	g, err := c.cfg.Auth.Account(name)
	if isKind(err, pfs.NotExist) {
		g, err = c.cfg.Auth.ByHDFSUser(name)
	}
	if err != nil || g.Role == auth.Admin {
		return auth.Grant{}, exception{unauthenticated, "user.name is not the name of an account that may be used without a password", http.StatusUnauthorized}
	}
	return g, nil
}
