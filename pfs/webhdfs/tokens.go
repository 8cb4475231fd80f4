package webhdfs

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/internal/hadooptoken"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

// getDelegationToken carries out GETDELEGATIONTOKEN. The secret of the token is a session of the user, which every
// replica knows and which ends when it is canceled, with the password, or with the account.
func getDelegationToken(ctx context.Context, c *call) (answer, error) {
	t, err := c.cfg.Auth.Delegate(ctx, c.user)
	if err != nil {
		return answer{}, err
	}
	id := hadooptoken.Identifier{
		Owner: c.user.Name, Renewer: c.params.text("renewer"), Issued: c.now(), Max: t.RefreshExpires,
	}
	token := hadooptoken.Token{Identifier: id.Encode(), Password: []byte(t.Refresh), Kind: hadooptoken.WebHDFS, Service: c.params.text("service")}
	if c.r.TLS != nil {
		token.Kind = hadooptoken.SWebHDFS
	}
	c.session.Audit(ctx, "getdelegationtoken", nil, "renewer", id.Renewer)
	return answer{body: named("Token", named("urlString", token.URL()))}, nil
}

// delegated returns the user of a delegation token.
func (c *call) delegated(text string) (auth.Grant, error) {
	token, err := hadooptoken.ParseURL(text)
	var id hadooptoken.Identifier
	if err == nil {
		id, err = hadooptoken.ParseIdentifier(token.Identifier)
	}
	if err != nil {
		return auth.Grant{}, forbidden(invalidToken, "%v", err)
	}
	g, err := c.cfg.Auth.AuthenticateDelegated(c.r.Context(), string(token.Password))
	switch {
	case isKind(err, pfs.Unauthenticated) || err == nil && g.Name != id.Owner:
		return auth.Grant{}, forbidden(invalidToken, "the delegation token of %.80q is not valid here, has expired or was canceled", id.Owner)
	case err != nil:
		return auth.Grant{}, err
	}
	return g, nil
}

// ownToken returns when the token of the request expires, if it belongs to the user who asks.
func (c *call) ownToken() (secret string, expires time.Time, err error) {
	text := c.params.text("token")
	g, err := c.delegated(text)
	if err == nil && g.Name != c.user.Name {
		err = forbidden(accessControl, "%s is neither the owner nor the renewer of the token", c.user.Name)
	}
	if err != nil {
		return "", g.Expires, err
	}
	token, err := hadooptoken.ParseURL(text)
	return string(token.Password), g.Expires, err
}

// renewDelegationToken carries out RENEWDELEGATIONTOKEN. A token need not be renewed: the answer is when it ends.
func renewDelegationToken(_ context.Context, c *call) (answer, error) {
	_, expires, err := c.ownToken()
	return answer{body: named("long", expires.UnixMilli())}, err
}

// cancelDelegationToken carries out CANCELDELEGATIONTOKEN.
func cancelDelegationToken(ctx context.Context, c *call) (answer, error) {
	secret, _, err := c.ownToken()
	if err != nil {
		return answer{}, err
	}
	_, err = c.cfg.Auth.Logout(ctx, secret)
	return answer{}, err
}
