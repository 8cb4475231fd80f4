package sftpfs

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// host keeps a connection to the SFTP host.
type host struct {
	options Options
	login   *ssh.ClientConfig
	closed  atomic.Bool

	connecting chan struct{} // holds an element while a call uses the next fields
	conn       *connection
	failedAt   time.Time
	failure    error
}

// Close ends the connection.
func (h *host) Close() error {
	h.connecting <- struct{}{}
	defer func() { <-h.connecting }()
	if !h.closed.Swap(true) && h.conn != nil {
		h.conn.lose()
	}
	return nil
}

// connection is one SSH connection, with a channel for pkg/sftp and one for listings.
type connection struct {
	*sftp.Client
	ssh  *ssh.Client
	dirs *directories

	calls atomic.Int64 // that wait for the server
	heard atomic.Int64 // when the server sent something last, or the first of the calls began, in ns since 1970
	lost  atomic.Bool
	done  chan struct{} // closed when lost is set
}

// connect returns the connection, which it makes if there is none.
func (h *host) connect(ctx context.Context) (*connection, error) {
	asked := time.Now()
	select {
	case h.connecting <- struct{}{}:
		defer func() { <-h.connecting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	switch {
	case h.closed.Load():
		return nil, pfs.Closed
	case h.conn != nil && !h.conn.lost.Load():
		return h.conn, nil
	case h.failedAt.After(asked): // while this call waited
		return nil, h.failure
	}
	c, err := h.dial(ctx)
	if err != nil {
		h.failedAt, h.failure = time.Now(), err
		return nil, err
	}
	if h.conn != nil {
		h.options.Logger.Info("connected to the SFTP host again", "host", h.options.Address)
	}
	h.conn = c
	return c, nil
}

// dial makes a connection.
func (h *host) dial(ctx context.Context) (*connection, error) {
	address := h.options.Address
	dialer := net.Dialer{Timeout: h.options.Timeout}
	raw, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, unavailable("%s does not answer: %w", address, err)
	}
	c := &connection{done: make(chan struct{})}
	go c.watch(raw, h.options.Timeout)
	c.begin()
	defer c.end()
	if err := h.logIn(c, raw); err != nil {
		c.lose()
		return nil, err
	}
	return c, nil
}

// logIn sets up the channels of c.
func (h *host) logIn(c *connection, raw net.Conn) error {
	address := h.options.Address
	conn, channels, requests, err := ssh.NewClientConn(heard{raw, c}, address, h.login)
	if err != nil {
		var unknown *knownhosts.KeyError
		var refused *ssh.ServerAuthError
		switch {
		case errors.As(err, &unknown) && len(unknown.Want) == 0:
			return refusal("the known_hosts file has no key for %s", address)
		case errors.As(err, &unknown):
			return refusal("%s has another host key than the known_hosts file: it was replaced, or somebody intercepts the connection", address)
		case errors.As(err, &refused), isAuth(err):
			return refusal("%s refuses the login of %s: %w", address, h.options.User, err)
		}
		return unavailable("%s: %w", address, err)
	}
	c.ssh = ssh.NewClient(conn, channels, requests)
	go func() { c.ssh.Wait(); c.lose() }()
	if c.Client, err = sftp.NewClient(c.ssh, sftp.UseConcurrentWrites(true)); err != nil {
		return unavailable("%s offers no SFTP: %w", address, err)
	}
	for _, extension := range []string{"posix-rename@openssh.com", "fsync@openssh.com"} {
		if _, ok := c.HasExtension(extension); !ok {
			return pfs.Errorf(openOp, "", pfs.Unsupported, "the SFTP server of %s lacks %s, so files cannot be replaced safely", address, extension)
		}
	}
	if c.dirs, err = newDirectories(c.ssh); err != nil {
		return unavailable("%s: %w", address, err)
	}
	return nil
}

func unavailable(format string, args ...any) error {
	return pfs.Errorf(openOp, "", pfs.Unavailable, format, args...)
}

func refusal(format string, args ...any) error {
	return pfs.Errorf(openOp, "", pfs.Permission, format, args...)
}

// watch closes the connection when the server is silent for too long while a call waits.
func (c *connection) watch(raw net.Conn, timeout time.Duration) {
	tick := time.NewTicker(timeout / 4)
	defer tick.Stop()
	for {
		select {
		case <-c.done:
			raw.Close()
			return
		case now := <-tick.C:
			if c.calls.Load() > 0 && now.UnixNano()-c.heard.Load() > int64(timeout) {
				c.lose()
			}
		}
	}
}

// lose ends the connection. Its calls return errors.
func (c *connection) lose() {
	if !c.lost.Swap(true) {
		close(c.done)
	}
}

func (c *connection) begin() {
	if c.calls.Add(1) == 1 {
		c.heard.Store(time.Now().UnixNano())
	}
}

func (c *connection) end() { c.calls.Add(-1) }

// heard notes when the server sends something.
type heard struct {
	net.Conn
	c *connection
}

func (r heard) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	if n > 0 {
		r.c.heard.Store(time.Now().UnixNano())
	}
	return n, err
}

// algorithms returns the algorithms of the host keys that the known_hosts file has for address, so
// that a server with keys of several types presents a known one. It returns nil, the default, if
// there is none.
func algorithms(check ssh.HostKeyCallback, address string) (all []string) {
	var known *knownhosts.KeyError
	if !errors.As(check(address, &net.TCPAddr{IP: net.IPv4zero}, noKey{}), &known) {
		return nil
	}
	for _, k := range known.Want {
		switch t := k.Key.Type(); t {
		case ssh.KeyAlgoRSA:
			all = append(all, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		default:
			all = append(all, t)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// noKey is a key that no host has.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return nil }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.ErrUnsupported }
