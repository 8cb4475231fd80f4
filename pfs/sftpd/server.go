package sftpd

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"golang.org/x/crypto/ssh"
)

const (
	// loginTime is how long a client may take to log in.
	loginTime = 30 * time.Second
	// acceptAgain is how long Serve waits after an error that passes.
	acceptAgain = 100 * time.Millisecond
	// checkEvery is how often the credentials of idle connections are checked.
	checkEvery = 5 * time.Second
	// stall is how long a client may accept no bytes.
	stall = 2 * time.Minute
	// askEvery is how often the service asks a client whether it is there. silence is how long a client may send nothing: it
	// then has left three questions without an answer.
	askEvery = 30 * time.Second
	silence  = 4 * askEvery
	// maxChannels bounds the sessions in one connection, as OpenSSH's server does.
	maxChannels = 10
	// maxSessions bounds the sessions of a user in all connections. Each may have an unread window of 2 MiB.
	maxSessions = 128
	// maxHandles bounds the open files and directories of a session.
	maxHandles = 256
	// shortRead is how many bytes are decrypted without a turn: as many as the transport reads to find the length of a packet.
	shortRead = 4096
	// maxUserHandles bounds those of a user in all sessions.
	maxUserHandles = 1024
)

// Config is the configuration of a Server. Fields without a stated default are required.
type Config struct {
	Auth Authenticator
	Open gateway.Open

	// Logged is called after each attempt to log in. Default: nothing.
	Logged func(ctx context.Context, user, remote string, err error)

	HostKey []byte // private key in PEM
	Home    func(id auth.Identity) pfs.Path
	Aliases []Alias
	Logger  *slog.Logger // default: discard
}

// Authenticator is the part of auth.Service that a Server uses.
type Authenticator interface {
	Authenticate(ctx context.Context, user, password, remote string) (auth.Grant, error)
	AuthenticateKey(ctx context.Context, user, fingerprint string) (auth.Grant, error)
}

// Server serves SFTP and SCP.
type Server struct {
	cfg     Config
	ssh     *ssh.ServerConfig
	uploads *uploads

	fingerprint string

	handles, sessions *shares

	mu    sync.Mutex
	conns map[net.Conn]*user // nil until the user is known
}

// user is a user in one connection.
type user struct {
	gateway.Session
	home    pfs.Path
	aliases []Alias
	remote  string
}

// New returns a Server.
func New(cfg Config) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	for _, a := range cfg.Aliases {
		if err := CheckAlias(a); err != nil {
			return nil, err
		}
	}
	cfg.Aliases = slices.Clone(cfg.Aliases)
	slices.SortFunc(cfg.Aliases, func(a, b Alias) int { return cmp.Compare(len(b.From), len(a.From)) }) // the longest first
	key, err := ssh.ParsePrivateKey(cfg.HostKey)
	if err != nil {
		return nil, pfs.Errorf("sftpd.New", "", pfs.Invalid, "the host key: %w", err)
	}
	s := &Server{cfg: cfg, uploads: newUploads(), conns: map[net.Conn]*user{}, handles: newShares(maxUserHandles), sessions: newShares(maxSessions)}
	s.ssh = &ssh.ServerConfig{
		Config: ssh.Config{
			KeyExchanges: []string{ssh.KeyExchangeMLKEM768X25519, ssh.KeyExchangeCurve25519, ssh.KeyExchangeECDHP256, ssh.KeyExchangeDH16SHA512},
			// Not ChaCha20-Poly1305, which many clients would choose: on amd64 it has no fast implementation in Go.
			Ciphers: []string{ssh.CipherAES128GCM, ssh.CipherAES256GCM, ssh.CipherAES256CTR, ssh.CipherAES128CTR},
			MACs:    []string{ssh.HMACSHA256ETM, ssh.HMACSHA512ETM, ssh.HMACSHA256, ssh.HMACSHA512},
		},
		ServerVersion:    "SSH-2.0-pfsd",
		PasswordCallback: s.password,
		PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			g, err := s.cfg.Auth.AuthenticateKey(context.Background(), c.User(), ssh.FingerprintSHA256(key))
			return &ssh.Permissions{ExtraData: map[any]any{grantKey{}: g}}, err
		},
		// The callback above is called for keys that the client only asks about.
		VerifiedPublicKeyCallback: func(c ssh.ConnMetadata, _ ssh.PublicKey, p *ssh.Permissions, _ string) (*ssh.Permissions, error) {
			g, _ := p.ExtraData[grantKey{}].(auth.Grant)
			return s.logged(c, g, nil)
		},
	}
	s.ssh.AddHostKey(key)
	s.fingerprint = ssh.FingerprintSHA256(key.PublicKey())
	return s, nil
}

// Fingerprint returns the fingerprint of the host key, as ssh shows it.
func (s *Server) Fingerprint() string { return s.fingerprint }

// grantKey is the key of the auth.Grant in ssh.Permissions.
type grantKey struct{}

func (s *Server) password(c ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
	g, err := s.cfg.Auth.Authenticate(context.Background(), c.User(), string(password), c.RemoteAddr().String())
	return s.logged(c, g, err)
}

// logged reports an attempt to log in.
func (s *Server) logged(c ssh.ConnMetadata, g auth.Grant, err error) (*ssh.Permissions, error) {
	if s.cfg.Logged != nil {
		s.cfg.Logged(context.Background(), c.User(), c.RemoteAddr().String(), err)
	}
	return &ssh.Permissions{ExtraData: map[any]any{grantKey{}: g}}, err
}

// Serve serves the connections of l until ctx is done or l fails permanently. Then it ends all connections, and keeps open
// uploads so that they can be continued.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var work sync.WaitGroup
	defer work.Wait()
	stop := context.AfterFunc(ctx, func() {
		_ = l.Close()
		s.closeAll(func(*user) bool { return true })
	})
	defer stop()
	work.Go(func() { s.watch(ctx) })
	for {
		c, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = c.Close()
			}
			return nil
		}
		if e, ok := err.(interface{ Temporary() bool }); ok && e.Temporary() { // such as too many open files, as in net/http
			s.cfg.Logger.Warn("sftp accepts no connections for now", "err", err)
			select {
			case <-ctx.Done():
			case <-time.After(acceptAgain):
			}
			continue
		}
		if err != nil {
			cancel()
			return err
		}
		s.mu.Lock()
		s.conns[c] = nil
		s.mu.Unlock()
		work.Go(func() {
			defer func() {
				_ = c.Close()
				s.mu.Lock()
				delete(s.conns, c)
				s.mu.Unlock()
			}()
			err := pfs.Guard("sftpd.Serve", "", func() error { return s.serve(ctx, c) })
			level := slog.LevelDebug // a client that leaves, or does not speak SSH, is no news
			if bug := new(pfs.PanicError); errors.As(err, &bug) {
				level = slog.LevelError
			}
			s.cfg.Logger.Log(ctx, level, "sftp connection ended", "remote", c.RemoteAddr(), "err", err)
		})
		if ctx.Err() != nil { // after closeAll has looked
			_ = c.Close()
		}
	}
}

// watch ends the connections of users whose credentials are no longer valid.
func (s *Server) watch(ctx context.Context) {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.closeAll(func(u *user) bool { return u != nil && errors.Is(u.Check(), pfs.Unauthenticated) })
		}
	}
}

// closeAll closes the connections of users that which selects; nil is one that is not logged in yet.
func (s *Server) closeAll(which func(*user) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, u := range s.conns {
		if which(u) {
			_ = c.Close()
		}
	}
}

// serve serves one connection.
func (s *Server) serve(ctx context.Context, nc net.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_ = nc.SetDeadline(time.Now().Add(loginTime))
	paced := &pacedConn{Conn: nc}
	conn, channels, requests, err := ssh.NewServerConn(paced, s.ssh)
	if err != nil {
		return err
	}
	defer conn.Close()
	go ssh.DiscardRequests(requests)
	g, _ := conn.Permissions.ExtraData[grantKey{}].(auth.Grant)
	remote := nc.RemoteAddr().String()
	x, err := s.cfg.Open(ctx, g, remote)
	if err != nil {
		return err
	}
	defer x.Close()
	paced.begin(func() (end func(), err error) { return x.Turn(ctx) })
	u := &user{Session: x, home: s.cfg.Home(g.Identity), remote: remote}
	for _, a := range s.cfg.Aliases {
		u.aliases = append(u.aliases, Alias{a.From, strings.ReplaceAll(a.To, "{user}", g.Name)})
	}
	s.mu.Lock()
	s.conns[nc] = u
	s.mu.Unlock()
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() { keepAlive(ctx, conn) })
	open := make(chan struct{}, maxChannels)
	for nch := range channels {
		if nch.ChannelType() != "session" {
			_ = nch.Reject(ssh.UnknownChannelType, "only sessions")
			continue
		}
		select {
		case open <- struct{}{}:
		default:
			_ = nch.Reject(ssh.ResourceShortage, "too many sessions in this connection")
			continue
		}
		if !s.sessions.take(g.Name, 1) {
			<-open
			_ = nch.Reject(ssh.ResourceShortage, "too many sessions of this user")
			continue
		}
		end := func() {
			s.sessions.leave(g.Name, 1)
			<-open
		}
		ch, requests, err := nch.Accept()
		if err != nil {
			end()
			continue
		}
		work.Go(func() {
			defer end()
			defer ch.Close()
			err := pfs.Guard("sftpd.channel", "", func() error { return s.channel(ctx, u, ch, requests) })
			if err != nil {
				s.cfg.Logger.Debug("sftp session ended", "remote", remote, "user", g.Name, "err", err)
			}
		})
	}
	return nil
}

// keepAlive asks the client every askEvery whether it is there, as OpenSSH's server does, so that an idle client sends something, too.
// It waits for each answer. pacedConn ends the connection of a client that sends nothing.
func keepAlive(ctx context.Context, conn ssh.Conn) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(askEvery):
		}
		if _, _, err := conn.SendRequest("keepalive@openssh.com", true, nil); err != nil {
			return
		}
	}
}

// pacedConn ends a connection whose client accepts no bytes, or sends none. The deadline for the login stays until begin is called.
//
// From then on, what a long Read returns is decrypted in a turn, which lasts until the next Read. Else the connections of one
// user, each with bytes at hand, keep the processors.
type pacedConn struct {
	net.Conn
	end func() // ends the turn since the last Read; nil if there was none

	mu   sync.Mutex                     // also: a Write and begin do not change the deadline at a time
	take func() (end func(), err error) // waits for a turn; nil until begin is called
}

func (c *pacedConn) begin(take func() (end func(), err error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.take = take
	_ = c.SetReadDeadline(time.Now().Add(silence))
	_ = c.SetWriteDeadline(time.Now().Add(stall))
}

// Read is called by one goroutine at a time.
func (c *pacedConn) Read(p []byte) (int, error) {
	if c.end != nil {
		c.end()
		c.end = nil
	}
	c.mu.Lock()
	if c.take != nil { // the time for turns and requests before is not the client's
		_ = c.SetReadDeadline(time.Now().Add(silence))
	}
	c.mu.Unlock()
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	take := c.take
	c.mu.Unlock()
	if err == nil && take != nil && n > shortRead {
		c.end, _ = take() // else the connection ends
	}
	return n, err
}

func (c *pacedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.take != nil {
		_ = c.SetWriteDeadline(time.Now().Add(stall))
	}
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// shares count what the users have of something. Each may have most.
type shares struct {
	most int

	mu   sync.Mutex
	each map[string]int
}

func newShares(most int) *shares { return &shares{most: most, each: map[string]int{}} }

// take counts n more of a user, unless these are too many.
func (s *shares) take(user string, n int) (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.each[user]+n > s.most {
		return false
	}
	s.each[user] += n
	return true
}

func (s *shares) leave(user string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.each[user] -= n; s.each[user] == 0 {
		delete(s.each, user)
	}
}
