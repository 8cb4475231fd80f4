package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// stall is how long a request may make no progress before it fails.
const stall = time.Minute

// message is one request to the service.
type message struct {
	op     string // of errors
	name   pfs.Path
	method string
	path   string
	query  url.Values
	kind   string // Content-Type
	// body returns a new request body for each attempt; nil for none.
	body func() (io.Reader, int64)
	// id is the request ID of a call that must not be executed twice.
	id string
	// trailers is true if receive reads the response's trailers.
	trailers bool
	// anonymous requests carry no token.
	anonymous bool
	// observe, if not nil, gets the answer of each attempt, or nil, and whether the whole
	// body was sent.
	observe func(resp *http.Response, sent bool)
}

// send sends m until receive accepts the answer or the retry budget of ctx is spent. receive
// reads what it needs before it returns, and calls touch while the answer arrives.
func (c *Client) send(ctx context.Context, m message, receive func(resp *http.Response, touch func()) error) error {
	budget := retry.From(ctx)
	if budget == nil {
		budget = retry.New(c.opts.Retry, nil)
	}
	op := retry.Op{Repairs: repairs, Cure: m.cure, Told: func(_ time.Duration, err error) {
		c.opts.Logger.Debug("asking again", "op", m.op, "path", string(m.name), "error", err)
	}}
	err := budget.Do(ctx, op, func(ctx context.Context) error {
		token, err := c.currentToken(ctx, m)
		if err == nil {
			err = c.attempt(ctx, m, token, receive)
		}
		if m.anonymous || token == "" || pfs.KindOf(err) != pfs.Unauthenticated || isUntrusted(err) {
			return err
		}
		c.drop(token)
		if token, err = c.newToken(ctx, token); err != nil {
			return err
		}
		return c.attempt(ctx, m, token, receive)
	})
	if err == nil {
		budget.Answered()
	}
	if pfs.KindOf(err).Temporary() && ctx.Err() != nil { // ctx ended while it waited
		return pfs.CheckContext(ctx, m.op, m.name)
	}
	return err
}

// repairs is how often a request is sent again at once after its bytes were damaged in transit.
const repairs = 3

// cure returns what helps against the failure of m. Repeating a limited login soon does not help, and a handle can be
// opened only after others were closed if the user has all.
func (m message) cure(err error) retry.Cure {
	switch {
	case errors.Is(err, wire.ErrDamaged):
		return retry.Repetition
	case errors.Is(err, pfs.Integrity), m.anonymous && errors.Is(err, pfs.Limit), errors.Is(err, wire.ErrHeld):
		return retry.Nothing
	}
	return retry.CureOf(err)
}

// errStalled is the cause when a request makes no progress for the time of stall.
var errStalled = fmt.Errorf("nothing moved for %v", stall)

// attempt sends m once.
func (c *Client) attempt(ctx context.Context, m message, token string, receive func(*http.Response, func()) error) error {
	leave, err := c.gates.of(m).enter(ctx, m.op, m.name)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(stall, func() { cancel(errStalled) })
	defer watch.Stop()
	touch := func() { watch.Reset(stall) }

	req, body, err := c.request(ctx, m, token, touch)
	if err != nil {
		return pfs.E(m.op, m.name, pfs.Invalid, err)
	}
	// An answer may arrive while net/http still reads the body. The caller owns its buffers
	// again when attempt returns.
	defer body.Close()
	resp, err := c.http.Do(req)
	if m.observe != nil {
		m.observe(resp, body.Len() == 0)
	}
	if err != nil {
		return c.transportError(ctx, m, err)
	}
	defer resp.Body.Close()
	touch()
	c.gates.learn(resp.Header)
	if err := c.check(m, resp); err != nil {
		return err
	}
	err = receive(resp, touch)
	var e *pfs.Error
	if err != nil && !errors.As(err, &e) {
		return c.transportError(ctx, m, err)
	}
	if err == nil {
		_, _ = io.CopyN(io.Discard, resp.Body, 1) // reach the end, so that the connection is kept
	}
	return named(err, m)
}

// isUntrusted reports whether the service has shown a certificate that is not accepted. Another token
// does not help then.
func isUntrusted(err error) bool {
	var pinned *PinError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var verification *tls.CertificateVerificationError
	return errors.As(err, &pinned) || errors.As(err, &unknown) || errors.As(err, &invalid) || errors.As(err, &host) || errors.As(err, &verification)
}

// named adds the path of the message to an error that has none.
func named(err error, m message) error {
	var e *pfs.Error
	if err == nil || !errors.As(err, &e) || e.Path != "" || m.name == "" {
		return err
	}
	named := *e
	named.Path = m.name
	return &named
}

func (c *Client) request(ctx context.Context, m message, token string, touch func()) (*http.Request, *sentBody, error) {
	target := c.base + m.path
	if m.query != nil {
		target += "?" + m.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, m.method, target, nil)
	if err != nil {
		return nil, nil, err
	}
	body := &sentBody{touch: touch}
	if m.body != nil {
		body.r, req.ContentLength = m.body()
		req.Body = body
		req.Header.Set("Content-Type", m.kind)
	}
	req.Header.Set(wire.HeaderProtocol, strconv.Itoa(wire.Version))
	set := func(header, value string) {
		if value != "" {
			req.Header.Set(header, value)
		}
	}
	set("User-Agent", c.opts.UserAgent)
	set(wire.HeaderDatacenter, c.opts.Datacenter)
	set(wire.HeaderRequest, m.id)
	set(wire.HeaderSender, c.opts.Sender)
	if m.trailers {
		set(wire.TE, wire.TETrailers)
	}
	if token != "" {
		set("Authorization", "Bearer "+token)
	}
	return req, body, nil
}

// sentBody is the body of a request. After Close nothing reads it.
type sentBody struct {
	touch func()

	mu     sync.Mutex
	r      io.Reader
	closed bool
}

func (b *sentBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	b.touch()
	return b.r.Read(p)
}

// Len returns the number of bytes that WriteTo would write; -1 if the body is not a chunk.
func (b *sentBody) Len() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, ok := b.r.(*wire.ChunkReader); ok {
		return c.Len()
	}
	return -1
}

// WriteTo writes a chunk in small writes.
func (b *sentBody) WriteTo(w io.Writer) (total int64, err error) {
	for err == nil && b.Len() > 0 {
		var n int64
		n, err = b.writeNext(w)
		total += n
	}
	return total, err
}

func (b *sentBody) writeNext(w io.Writer) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	b.touch()
	return b.r.(*wire.ChunkReader).WriteNext(w)
}

func (b *sentBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// touching calls touch whenever its reader is read.
type touching struct {
	io.Reader
	touch func()
}

func (t *touching) Read(p []byte) (int, error) {
	t.touch()
	return t.Reader.Read(p)
}

// check returns the error that resp carries, if any.
func (c *Client) check(m message, resp *http.Response) error {
	version := resp.Header.Get(wire.HeaderProtocol)
	if version == "" {
		kind := wire.KindOfStatus(resp.StatusCode)
		if resp.StatusCode == http.StatusBadRequest && strings.HasPrefix(c.base, "http://") {
			return pfs.Errorf(m.op, m.name, kind, "%s answered %s, but not as a pfs service: if it serves TLS, write https://", c.base, resp.Status)
		}
		return pfs.Errorf(m.op, m.name, kind, "%s answered %s, but not as a pfs service: check the endpoint and what is between", c.base, resp.Status)
	}
	if resp.StatusCode < 400 {
		if version != strconv.Itoa(wire.Version) {
			return pfs.Errorf(m.op, m.name, pfs.Unsupported,
				"the service speaks protocol %.20q, this client protocol %d: use a client of the service's version", version, wire.Version)
		}
		return nil
	}
	var e wire.Error
	b, err := io.ReadAll(io.LimitReader(resp.Body, wire.MaxMessage))
	if err == nil {
		err = wire.Decode(b, &e)
	}
	if err != nil {
		return pfs.Errorf(m.op, m.name, wire.KindOfStatus(resp.StatusCode), "%s answered %s", c.base, resp.Status)
	}
	return named(e.Err(), m)
}

// transportError classifies an error of net/http or of a body's Read.
func (c *Client) transportError(ctx context.Context, m message, err error) error {
	switch cause := context.Cause(ctx); {
	case cause == errStalled:
		return pfs.Errorf(m.op, m.name, pfs.Unavailable, "%s: %w", c.base, errStalled)
	case cause != nil && cause != ctx.Err():
		return pfs.Errorf(m.op, m.name, pfs.Canceled, "%w: %w", ctx.Err(), cause)
	case cause != nil:
		return pfs.E(m.op, m.name, pfs.Canceled, cause)
	}
	var pinned *PinError
	if errors.As(err, &pinned) {
		return pfs.E(m.op, m.name, pfs.Unauthenticated, pinned)
	}
	if speaksPlainHTTP(err) {
		return wrongScheme(m.op, m.name, c.base)
	}
	if isUntrusted(err) {
		return pfs.Errorf(m.op, m.name, pfs.Unauthenticated, "%s cannot prove who it is (%w): log in with --fingerprint to trust its certificate", c.base, err)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without method and URL, which the message has already
	}
	return pfs.Errorf(m.op, m.name, pfs.Unavailable, "%s: %w", c.base, err)
}
