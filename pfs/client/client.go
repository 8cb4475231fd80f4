// Package client is the tree of files of a pfs service: a pfs.FileSystem over the
// protocol of package wire.
//
// If the connection breaks, a chunk is damaged or the service is unavailable, the client repeats
// the request with the same ID, within the retry.Budget of the context. It replaces an expired
// access token by a new one from Options.Token. Any other error has the Kind that the service
// returned, or Unavailable. All methods may be called concurrently.
package client

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// Options name the service and the user. Only Endpoint is required.
type Options struct {
	// Endpoint is the service's URL: https://host:port, or http:// on a trusted
	// network.
	Endpoint string

	// Fingerprint is the SHA-256 of the service's certificate in hex. If it is set, only
	// that certificate is accepted; else the system's authorities decide.
	Fingerprint string

	// Datacenter is the caller's name for the service's current datacenter.
	Datacenter string

	// Token returns an access token. refused is the token that the service has just refused, empty
	// at first; the function should not return it again. Without Token the client can only log in
	// and call ServiceInfo.
	Token func(ctx context.Context, refused string) (string, error)

	// Retry is the retry policy if the context carries no retry.Budget.
	Retry retry.Policy

	// Sender, if not empty, is ID/N: an ID for this process and the processes that it replaces, and its
	// number among them. After a change of this process, the service refuses changes of earlier ones.
	Sender string

	// UserAgent names the program to the service's log.
	UserAgent string

	Logger *slog.Logger // default: discard
}

// Client is a pfs.FileSystem.
type Client struct {
	opts Options
	base string // endpoint without a trailing slash
	http *http.Client

	gates  gates
	leases leases
	renew  chan struct{} // has an element while a new token is requested
	mu     sync.Mutex
	token  string
}

var (
	_ pfs.FileSystem       = (*Client)(nil)
	_ pfs.Symlinker        = (*Client)(nil)
	_ pfs.HandleOpener     = (*Client)(nil)
	_ pfs.ExclusiveRenamer = (*Client)(nil)
	_ pfs.TreeRemover      = (*Client)(nil)
	_ pfs.SpaceReporter    = (*Client)(nil)
	_ pfs.UsageReporter    = (*Client)(nil)
	_ pfs.QuotaSetter      = (*Client)(nil)
	_ pfs.Copier           = (*Client)(nil)
	_ pfs.Digester         = (*Client)(nil)
	_ pfs.BatchWriter      = (*Client)(nil)
	_ pfs.BatchReader      = (*Client)(nil)
	_ pfs.RangeReader      = (*Client)(nil)
	_ pfs.Sweeper          = (*Client)(nil)
	_ pfs.AccessChecker    = (*Client)(nil)
	_ pfs.AttrSetter       = (*Client)(nil)
	_ pfs.XattrKeeper      = (*Client)(nil)
	_ pfs.HardLinker       = (*Client)(nil)
	_ pfs.NodeMaker        = (*Client)(nil)
	_ pfs.Concatenator     = (*Client)(nil)
	_ pfs.BlockLocator     = (*Client)(nil)

	_ pfs.CapabilityReporter = (*Client)(nil)
)

// New returns a client. It sends nothing yet.
func New(opts Options) (*Client, error) {
	base, err := parseEndpoint(opts.Endpoint)
	if err != nil {
		return nil, err
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	if opts.Fingerprint != "" {
		if config.VerifyConnection, err = pin(opts.Fingerprint); err != nil {
			return nil, err
		}
		config.InsecureSkipVerify = true // VerifyConnection decides
	}
	return &Client{opts: opts, base: base, renew: make(chan struct{}, 1), http: &http.Client{
		Transport: newTransport(config),
		// A redirect would carry token and data elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close closes idle connections. Open handles stay open in the service until their leases
// end.
func (c *Client) Close() error {
	c.leases.close()
	c.http.CloseIdleConnections()
	return nil
}

// parseEndpoint checks the service's URL and returns it without trailing slashes.
func parseEndpoint(s string) (string, error) {
	const op = "client.New"
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return "", pfs.Errorf(op, "", pfs.Invalid, "endpoint: %w", err)
	case u.Scheme != "https" && u.Scheme != "http":
		return "", pfs.Errorf(op, "", pfs.Invalid, "endpoint %q: it begins with https:// (or http://)", s)
	case u.Host == "":
		return "", pfs.Errorf(op, "", pfs.Invalid, "endpoint %q names no host", s)
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return "", pfs.Errorf(op, "", pfs.Invalid, "endpoint %s: only scheme, host, port and path belong there", u.Redacted())
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// newTransport returns a transport for many parallel requests to one service. It uses HTTP/1.1
// only, because chunks move faster on separate connections than as streams of one.
func newTransport(config *tls.Config) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		TLSClientConfig:       config,
		DialContext:           dialer.DialContext,
		DialTLSContext:        dialCorked(dialer, config),
		Protocols:             protocols,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       time.Minute,
		TLSHandshakeTimeout:   handshakeWithin,
		ResponseHeaderTimeout: stall,
		DisableCompression:    true,
	}
}

// handshakeWithin bounds a TLS handshake.
const handshakeWithin = 15 * time.Second

// dialCorked dials TLS connections that send bodies in few writes.
func dialCorked(dialer *net.Dialer, config *tls.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		raw, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		config := config.Clone()
		if config.ServerName == "" {
			config.ServerName, _, _ = net.SplitHostPort(addr)
		}
		cork := wire.NewCork(raw)
		conn := tls.Client(cork, config)
		ctx, cancel := context.WithTimeout(ctx, handshakeWithin)
		defer cancel()
		if err := conn.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, err
		}
		return &wire.CorkedConn{Conn: conn, Cork: cork}, nil
	}
}
