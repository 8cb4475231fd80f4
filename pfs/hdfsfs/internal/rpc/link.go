package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
)

// link is an attempt to connect to a NameNode, and the connection that it made.
type link struct {
	done chan struct{} // closed at the end of the attempt
	conn *conn
	err  error
}

// connection returns the connection to a NameNode. If there is none, it connects, or waits for the attempt that
// is in progress.
func (c *Client) connection(ctx context.Context, server string) (*conn, error) {
	l, err := c.link(server)
	if err != nil {
		return nil, err
	}
	select {
	case <-l.done:
		return l.conn, l.err
	default:
	}
	timer := time.NewTimer(c.opts.Timeout)
	defer timer.Stop()
	select {
	case <-l.done:
		return l.conn, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-timer.C:
		c.opts.Servers.NoteFailed(server) // the attempt may be about to do so
		return nil, &NoAnswer{Server: server, Limit: c.opts.Timeout}
	}
}

// link returns the link to a NameNode, which may be a new one. A connection that is older than the last
// failure of its NameNode is not used any more.
func (c *Client) link(server string) (*link, error) {
	c.mu.Lock()
	l := c.links[server]
	var old *conn
	if l != nil && l.conn != nil && c.opts.Servers.FailedSince(server, l.conn.born) {
		l, old = nil, l.conn
	}
	if c.life.Err() != nil {
		c.mu.Unlock()
		return nil, final{errClosed}
	}
	if l == nil {
		l = &link{done: make(chan struct{})}
		c.links[server] = l
		go c.connect(server, l)
	}
	c.mu.Unlock()
	if old != nil {
		old.retire(errIdle)
	}
	return l, nil
}

// connect makes the attempt.
func (c *Client) connect(server string, l *link) {
	var made *conn
	err := pfs.Guard("rpc.Call", "", func() (err error) {
		made, err = c.open(server, l)
		return err
	})
	if err != nil {
		c.lost(server, l, err)
	}
	c.mu.Lock()
	l.conn, l.err = made, err
	c.mu.Unlock()
	close(l.done)
	if c.life.Err() != nil && made != nil {
		made.end(errClosed)
	}
}

// lost lets the next caller connect again.
func (c *Client) lost(server string, l *link, why error) {
	var remote *RemoteError
	var last final
	blame := why != errIdle && why != errClosed && c.life.Err() == nil && !errors.As(why, &remote) && !errors.As(why, &last)
	if blame {
		c.opts.Servers.NoteFailed(server)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.links[server] == l {
		delete(c.links, server)
	}
}

// open connects and authenticates.
func (c *Client) open(server string, l *link) (*conn, error) {
	late := &NoAnswer{Server: server, Limit: c.opts.Timeout}
	ctx, cancel := context.WithTimeoutCause(c.life, c.opts.Timeout, late)
	defer cancel()
	var tickets *krb.Client
	var token *hdfsproto.Token
	var err error
	if c.opts.Token != nil {
		if token, err = c.opts.Token(); err != nil {
			return nil, final{err}
		}
	}
	if c.opts.Kerberos != nil {
		if tickets, err = c.opts.Kerberos(ctx); err != nil {
			return nil, final{err}
		}
	}
	nc, err := (&net.Dialer{Timeout: c.opts.Timeout / 2}).DialContext(ctx, "tcp", server)
	if err != nil {
		return nil, &connError{server, err}
	}
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	s, err := c.handshake(ctx, nc, server, tickets, token)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil {
		return newConn(server, s, c.opts.Timeout, func(_ *conn, why error) { c.lost(server, l, why) }), nil
	}
	nc.Close()
	var ticket *TicketError
	if ctx.Err() != nil && !errors.As(err, &ticket) {
		return nil, context.Cause(ctx)
	}
	return nil, explainHandshake(server, tickets, err)
}

// explainHandshake returns the error of a handshake that failed.
func explainHandshake(server string, tickets *krb.Client, err error) error {
	var remote *RemoteError
	var ticket *TicketError
	var network net.Error
	var known *pfs.Error
	switch {
	case errors.As(err, &ticket), errors.As(err, &known):
		return final{err}
	case errors.As(err, &remote) && remote.AsksToRepeat():
		return err
	case errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF), tickets == nil:
		return explain(server, err)
	}
	return refused(tickets.Credentials.CName().PrincipalNameString(), explain(server, err))
}

// explain adds the server to the error of a connection.
func explain(server string, err error) error {
	var remote *RemoteError
	var late *NoAnswer
	var named *connError
	switch {
	case errors.As(err, &remote), errors.As(err, &late), errors.As(err, &named):
		return err
	}
	return &connError{server, err}
}
