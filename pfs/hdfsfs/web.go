package hdfsfs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/paddlecloud/pfs/pfs"
)

// errWebOff is the error of an operation that needs WebHDFS while it is off.
var errWebOff = pfs.Errorf("hdfsfs.web", "", pfs.Unsupported, "it needs WebHDFS, which is not configured or is switched off (dfs.webhdfs.enabled)")

// maxAnswer bounds the bytes read of one response. The longest is a page of a listing.
const maxAnswer = 16 << 20

func newTransport(o Options) http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: o.Timeout / 2}).DialContext
	t.TLSClientConfig = o.TLS
	t.Proxy = nil // as for RPC: NameNodes are reached directly
	t.MaxIdleConnsPerHost = maxIdle
	t.IdleConnTimeout = idleTime
	return t
}

// webCall is an operation of WebHDFS on a NameNode.
type webCall struct {
	method, op string
	path       string // in HDFS
	query      url.Values
	repeat     repeat
}

// hasWeb reports whether WebHDFS is configured and has not been found to be off.
func (c *cluster) hasWeb() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.opts.WebHDFS) > 0 && !c.webOff
}

// noteWebOff records that WebHDFS is off. It logs this once.
func (c *cluster) noteWebOff(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.webOff {
		c.webOff = true
		level := slog.LevelWarn
		if c.opts.WebHDFSNamed {
			level = slog.LevelError
		}
		c.opts.Logger.Log(context.Background(), level, "WebHDFS is off: large files are written more slowly, and quotas and exclusive names are not available",
			"reason", reason)
	}
}

// web sends the call to the NameNodes in turn until one carries it out, and decodes the
// response into reply unless that is nil.
func (f *FS) web(ctx context.Context, call webCall, reply any) error {
	if !f.hasWeb() {
		return errWebOff
	}
	var err error
	for _, base := range f.webServers.Order() {
		err = f.webAt(ctx, base, call, reply)
		if is(err, pfs.Unavailable) && ctx.Err() == nil {
			f.webServers.NoteFailed(base)
		}
		if !triesNext(err, call.repeat) {
			return err
		}
	}
	return err
}

// triesNext reports whether a call that ended with err may be sent to the next NameNode.
func triesNext(err error, r repeat) bool {
	var remote remoteError
	var op *net.OpError
	switch {
	case err == nil || !is(err, pfs.Unavailable):
		return false
	case errors.As(err, &remote):
		return remote.Exception() == standbyException
	case errors.As(err, &op) && op.Op == "dial":
		return true
	}
	return r == idempotent
}

// webAt sends the call to one NameNode, with Options.Timeout.
func (f *FS) webAt(ctx context.Context, base string, call webCall, reply any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, f.opts.Timeout, &noAnswer{what: "WebHDFS did not answer within " + f.opts.Timeout.String()})
	defer cancel()
	q := url.Values{"op": {call.op}}
	for k, v := range call.query {
		q[k] = v
	}
	if f.opts.Kerberos == nil {
		q.Set("user.name", f.user)
	}
	req, err := http.NewRequestWithContext(ctx, call.method, base+"/webhdfs/v1"+escape(call.path)+"?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("X-XSRF-HEADER", "pfs") // required where the CSRF filter is on
	resp, err := f.webDo(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	return f.webAnswer(call, resp, body, reply)
}

// webDo sends the request, with a Kerberos ticket if the server requires one.
func (f *FS) webDo(req *http.Request) (*http.Response, error) {
	client := &http.Client{Transport: f.http}
	if f.opts.Kerberos == nil {
		return client.Do(req)
	}
	for again := false; ; again = true {
		if err := f.affirm(req.Context(), "hdfsfs.web", pfs.Unavailable); err != nil {
			return nil, err
		}
		resp, err := spnego.NewClient(f.kerberos(), client, "HTTP/"+req.URL.Hostname()).Do(req)
		var sending *url.Error
		switch {
		case err == nil || errors.As(err, &sending):
			return resp, err
		case again:
			return nil, f.noService(err)
		}
		// The ticket expired after affirm: the request was not carried out.
	}
}

// webAnswer decodes a response into reply or an error.
func (f *FS) webAnswer(call webCall, resp *http.Response, body []byte, reply any) error {
	if resp.StatusCode == http.StatusOK {
		if reply == nil {
			return nil
		}
		if err := json.Unmarshal(body, reply); err != nil {
			return pfs.Errorf("hdfsfs.web", "", pfs.Unavailable, "cannot decode the response of WebHDFS: %w", err)
		}
		return nil
	}
	var wrong struct{ RemoteException webError }
	if json.Unmarshal(body, &wrong) == nil && wrong.RemoteException.Class != "" {
		if wrong.RemoteException.refuses() || resp.StatusCode == http.StatusUnauthorized {
			return f.webRefuses(wrong.RemoteException.Text)
		}
		wrong.RemoteException.method = call.op
		return &wrong.RemoteException
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return f.webRefuses(resp.Status)
	case http.StatusNotFound, http.StatusNotImplemented:
		f.noteWebOff(resp.Status)
		return errWebOff
	}
	return pfs.Errorf("hdfsfs.web", "", pfs.Unavailable, "WebHDFS answers %s", resp.Status)
}

// webRefuses returns the error of a WebHDFS server that rejects the service's authentication, although
// RPC accepts it. Its Kind is Unavailable, since Permission would blame the file and its user.
func (f *FS) webRefuses(text string) error {
	text, _, _ = strings.Cut(text, "\n")
	return pfs.Errorf("hdfsfs.web", "", pfs.Unavailable, "WebHDFS refuses the authentication of %s: %s", f.service.user, text)
}

// webError is an exception that WebHDFS returned.
type webError struct {
	Class string `json:"javaClassName"`
	Text  string `json:"message"`

	method string
}

func (e *webError) Error() string     { return e.Class + ": " + e.Text }
func (e *webError) Method() string    { return e.method }
func (e *webError) Exception() string { return e.Class }
func (e *webError) Message() string   { return e.Text }

// refuses reports whether the web server rejected the authentication. A NameNode that denies an
// operation throws an AccessControlException instead.
func (e *webError) refuses() bool {
	return e.Class == "java.lang.SecurityException" || strings.HasSuffix(e.Class, ".AuthenticationException")
}

// escape escapes a path for a URL.
func escape(p string) string {
	var b strings.Builder
	for name := range strings.SplitSeq(strings.TrimPrefix(p, "/"), "/") {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(name))
	}
	return b.String()
}
