package client

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// Tokens are the result of a login. Keep Refresh as secret as a password.
type Tokens struct {
	User           string    `json:"user"`
	Access         string    `json:"access"`
	Refresh        string    `json:"refresh"`
	Expires        time.Time `json:"expires"` // of Access
	RefreshExpires time.Time `json:"refresh_expires"`
}

// Login asks for tokens.
func (c *Client) Login(ctx context.Context, user, password string) (Tokens, error) {
	return c.tokens(ctx, "client.Login", wire.PathLogin, wire.Credentials{User: user, Password: password})
}

// Refresh asks for a new access token.
func (c *Client) Refresh(ctx context.Context, refresh string) (Tokens, error) {
	return c.tokens(ctx, "client.Refresh", wire.PathRefresh, wire.RefreshRequest{Refresh: refresh})
}

// Logout ends a refresh token. Its access tokens remain valid for their few minutes.
func (c *Client) Logout(ctx context.Context, refresh string) error {
	return c.post(ctx, message{op: "client.Logout", path: wire.PathLogout, anonymous: true},
		wire.RefreshRequest{Refresh: refresh}, &wire.Empty{}, nil)
}

// Service asks the service for its description. It needs no token.
func (c *Client) Service(ctx context.Context) (wire.ServiceInfo, error) {
	var info wire.ServiceInfo
	m := message{op: "client.Service", method: "GET", path: wire.PathService, anonymous: true}
	err := c.send(ctx, m, c.replyTo(m, &info, nil))
	return info, err
}

func (c *Client) tokens(ctx context.Context, op, path string, request any) (Tokens, error) {
	var t wire.Tokens
	err := c.post(ctx, message{op: op, path: path, anonymous: true}, request, &t, nil)
	if err != nil {
		return Tokens{}, err
	}
	return Tokens{
		User: t.User, Access: t.Access, Refresh: t.Refresh,
		Expires: t.Expires.Time(), RefreshExpires: t.RefreshExpires.Time(),
	}, nil
}

// currentToken returns the token for a request.
func (c *Client) currentToken(ctx context.Context, m message) (string, error) {
	if m.anonymous {
		return "", nil
	}
	c.mu.Lock()
	token := c.token
	c.mu.Unlock()
	if token != "" {
		return token, nil
	}
	return c.newToken(ctx, "")
}

// drop forgets a refused token, unless another one has replaced it.
func (c *Client) drop(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token == token {
		c.token = ""
	}
}

// newToken asks Options.Token for a token other than refused, once for all requests that need
// one.
func (c *Client) newToken(ctx context.Context, refused string) (string, error) {
	if c.opts.Token == nil {
		return "", pfs.Errorf("client.newToken", "", pfs.Unauthenticated, "log in first")
	}
	select {
	case c.renew <- struct{}{}:
		defer func() { <-c.renew }()
	case <-ctx.Done():
		return "", pfs.CheckContext(ctx, "client.newToken", "")
	}
	c.mu.Lock()
	token := c.token
	c.mu.Unlock()
	if token != "" && token != refused {
		return token, nil // another request has just got it
	}
	token, err := c.opts.Token(ctx, refused)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.token = token
	c.mu.Unlock()
	return token, nil
}
