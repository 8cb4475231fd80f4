package app

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/client"
)

// remotes are the services in use. A service is connected at its first use.
type remotes struct {
	a *App

	load sync.Mutex // guards file
	file *config.File

	mu   sync.Mutex             // guards open
	open map[string]*connection // by name of the entry

	only *connection // if not nil, the service of all paths; see Use
}

// Connection is the service of one entry.
type Connection = *connection

// connection is the service of one entry.
type connection struct {
	Entry   config.Entry
	FS      pfs.FileSystem
	Client  *client.Client // of FS; nil if Main.Open opened FS
	session *config.Session
	token   func(ctx context.Context, refused string) (string, error) // of Client
}

// Login returns the tokens of the login at the service. It renews invalid tokens if the configuration has a password.
func (c *connection) Login(ctx context.Context) (client.Tokens, error) {
	if _, err := c.token(ctx, ""); err != nil {
		return client.Tokens{}, err
	}
	return c.session.Stored()
}

func newRemotes(a *App) *remotes { return &remotes{a: a, open: map[string]*connection{}} }

// close ends idle connections.
func (r *remotes) close() {
	for _, c := range r.open {
		if c.Client != nil {
			c.Client.Close()
		}
	}
}

// Config loads the configuration once and prints its warnings.
func (r *remotes) Config() (*config.File, error) {
	r.load.Lock()
	defer r.load.Unlock()
	if r.file != nil {
		return r.file, nil
	}
	name, err := r.a.ConfigName()
	if err != nil {
		return nil, err
	}
	file, err := config.Load(name)
	if err != nil {
		return nil, err
	}
	for _, w := range file.Warnings {
		r.a.Note("warning: %s", w)
	}
	r.file = file
	return file, nil
}

// Use makes s the service of all paths. No configuration is read.
func (r *remotes) Use(ctx context.Context, s Service) error {
	fsys, endpoint, user, err := r.Tree(ctx, Top, s)
	if err == nil {
		r.only = &connection{Entry: config.Entry{Name: s.Name, Endpoint: endpoint, Fingerprint: s.Fingerprint, Username: user}, FS: fsys}
	}
	return err
}

// At returns the service of the path p: the one whose entry has the name of p's datacenter, or
// else the current one.
func (r *remotes) At(ctx context.Context, p pfs.Path) (*connection, error) {
	if r.only != nil {
		return r.only, nil
	}
	file, err := r.Config()
	if err == nil {
		err = file.Check()
	}
	if err != nil {
		return nil, err
	}
	if e, ok := file.Find(datacenter(p)); ok {
		if e.Err != nil {
			return nil, e.Err
		}
		return r.connect(ctx, file.Name, e)
	}
	return r.Current(ctx)
}

// Current returns the service of the current entry.
func (r *remotes) Current(ctx context.Context) (*connection, error) {
	if r.only != nil {
		return r.only, nil
	}
	file, err := r.Config()
	if err != nil {
		return nil, err
	}
	e, err := file.Current()
	if err != nil {
		return nil, err
	}
	return r.connect(ctx, file.Name, e)
}

// Service returns the current service for the command, which needs its Client.
func (r *remotes) Service(ctx context.Context, command string) (*connection, error) {
	c, err := r.At(ctx, Top)
	if err == nil && c.Client == nil {
		err = pfs.Errorf("paddlectl."+command, "", pfs.Unsupported, "datacenter %q has no service", c.Entry.Name)
	}
	return c, err
}

// Service names the service and the account of a mount.
type Service struct {
	// Endpoint is the address of a service that need not be in the configuration. If it is empty, the
	// configuration has the service.
	Endpoint    string
	Name        string // that paths have for the current datacenter of Endpoint, if it is not that of the service
	Fingerprint string // of the certificate at Endpoint; empty means that the system decides

	// TokenFile, if not empty, is a file with a token to use in place of a login. Another process
	// may replace the token.
	TokenFile string

	// Session, if not empty, is a refresh token to use in place of both.
	Session string
}

// Tree returns the tree of the service s that has the path p, the address of that service, and the account
// that owns the files. A token of another account in s.TokenFile is refused later, because cached
// and staged files belong to the first account.
func (r *remotes) Tree(ctx context.Context, p pfs.Path, s Service) (fsys pfs.FileSystem, endpoint, user string, err error) {
	e := config.Entry{Name: s.Name, Fingerprint: s.Fingerprint}
	if s.Endpoint == "" {
		c, err := r.At(ctx, p)
		if err != nil {
			return nil, "", "", err
		}
		if s.TokenFile == "" {
			return c.FS, c.Entry.Endpoint, c.Entry.Username, nil
		}
		e = c.Entry
	} else if e.Endpoint, err = config.ParseEndpoint(s.Endpoint); err == nil {
		err = CheckPlain(e)
	}
	if err != nil {
		return nil, "", "", err
	}
	if s.Session != "" {
		fsys, user, err := r.a.inSession(ctx, e, s.Session)
		return fsys, e.Endpoint, user, err
	}
	file, err := filepath.Abs(s.TokenFile)
	if err != nil {
		return nil, "", "", err
	}
	read := func(refused string) (token, account string, err error) {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", "", err
		}
		token = strings.TrimSpace(string(text))
		account, ok := accountOf(token)
		switch {
		case !ok || token == refused:
			err = fmt.Errorf("%w: the service does not accept the token in %s", pfs.Unauthenticated, file)
			err = WithHint(err, "put a valid token into the file: it is read again at the next request")
		case user != "" && account != user:
			err = fmt.Errorf("%w: the token in %s is of the account %q, and this is a mount of %q", pfs.Unauthenticated, file, account, user)
			err = WithHint(err, "end the mount, and mount again as the other account")
		}
		return token, account, err
	}
	if _, user, err = read(""); err != nil {
		return nil, "", "", err
	}
	fsys, err = r.a.Client(e, func(_ context.Context, refused string) (string, error) {
		token, _, err := read(refused)
		return token, err
	})
	return fsys, e.Endpoint, user, err
}

// inSession returns the tree of the service of e for a session, and its account. Access tokens are renewed when the service refuses them.
func (a *App) inSession(ctx context.Context, e config.Entry, refresh string) (fsys pfs.FileSystem, user string, err error) {
	var c *client.Client
	var mu sync.Mutex
	var last client.Tokens
	c, err = a.Client(e, func(ctx context.Context, refused string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if last.Access != "" && last.Access != refused {
			return last.Access, nil
		}
		now, err := c.Refresh(ctx, refresh)
		if err == nil {
			last = now
		}
		return now.Access, err
	})
	if err != nil {
		return nil, "", err
	}
	last, err = c.Refresh(ctx, refresh)
	return c, last.User, err
}

// accountOf returns the account that an access token names. Only the service can check the token.
func accountOf(token string) (account string, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", false
	}
	var claims struct {
		Subject string `json:"sub"`
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}
	return claims.Subject, err == nil && claims.Subject != ""
}

// connect returns the service of the entry e of the file configName.
func (r *remotes) connect(ctx context.Context, configName string, e config.Entry) (*connection, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.open[e.Name]; c != nil {
		return c, nil
	}
	c := &connection{Entry: e}
	var err error
	if r.a.Main.Open != nil {
		c.FS, err = r.a.Main.Open(e)
	} else {
		err = r.dial(ctx, configName, c)
	}
	if err != nil {
		return nil, err
	}
	r.open[e.Name] = c
	return c, nil
}

// dial creates the client of c.
func (r *remotes) dial(ctx context.Context, configName string, c *connection) error {
	if err := CheckPlain(c.Entry); err != nil {
		return err
	}
	if err := r.a.pinOnLoopback(ctx, configName, &c.Entry); err != nil {
		return err
	}
	c.token = func(ctx context.Context, refused string) (string, error) {
		token, err := c.session.Token(ctx, refused)
		return token, r.a.LoginHint(err, c.Entry)
	}
	var err error
	if c.Client, err = r.a.Client(c.Entry, c.token); err != nil {
		return err
	}
	c.FS, c.session = c.Client, config.NewSession(configName, c.Entry, c.Client)
	return nil
}

// Client returns a client of the service of e. token is the field of client.Options.
func (a *App) Client(e config.Entry, token func(context.Context, string) (string, error)) (*client.Client, error) {
	opts := client.Options{
		Endpoint:    e.Endpoint,
		Fingerprint: e.Fingerprint,
		Datacenter:  e.Name,
		Token:       token,
		UserAgent:   a.Program + "/" + a.Main.Version,
		Sender:      a.Sender,
	}
	if a.Global.Debug {
		opts.Logger = slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return client.New(opts)
}

// CheckPlain refuses an endpoint to which passwords and tokens would travel unencrypted.
func CheckPlain(e config.Entry) error {
	u, err := url.Parse(e.Endpoint)
	if err != nil || u.Scheme != "http" || cliio.IsLoopback(u.Hostname()) || e.Insecure {
		return err
	}
	of := ""
	if e.Name != "" { // at a first login the service gives the name
		of = fmt.Sprintf(" of datacenter %q", e.Name)
	}
	return fmt.Errorf("%w: %s would carry the login%s unencrypted: use https, or in a trusted network paddlectl login --insecure",
		pfs.Invalid, e.Endpoint, of)
}

// pinOnLoopback trusts the certificate of a service on this machine at the first use, since
// nobody can intercept that connection, and stores its fingerprint.
func (a *App) pinOnLoopback(ctx context.Context, configName string, e *config.Entry) error {
	u, err := url.Parse(e.Endpoint)
	if err != nil || u.Scheme != "https" || e.Fingerprint != "" || !cliio.IsLoopback(u.Hostname()) {
		return err
	}
	fingerprint, trusted, err := client.Fingerprint(ctx, e.Endpoint)
	if err != nil || trusted {
		return err
	}
	e.Fingerprint = fingerprint
	err = config.Edit(configName, func(f *config.File) error {
		stored, ok := f.Find(e.Name)
		if !ok || stored.Err != nil || stored.Endpoint != e.Endpoint {
			return errUnchanged
		}
		stored.Fingerprint = fingerprint
		return f.Put(stored)
	})
	if err != nil && !errors.Is(err, errUnchanged) {
		a.Note("the fingerprint of %s was not stored: %v", e.Endpoint, err)
	}
	return nil
}

// errUnchanged ends an edit without a change.
var errUnchanged = errors.New("unchanged")
