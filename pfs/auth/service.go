package auth

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/sync/singleflight"
)

// The defaults of Options.
const (
	DefaultAccessLife = 15 * time.Minute
	DefaultMaxRefresh = 100
)

// RefreshLife is the lifetime of a refresh token, from the login.
const RefreshLife = 30 * 24 * time.Hour

// AccountsFile is the name of the accounts file in the directory of a Service.
const AccountsFile = "accounts.yaml"

// Options configure a Service. The zero value is valid.
type Options struct {
	AccessLife time.Duration    // lifetime of access tokens
	MaxRefresh int              // maximum refresh tokens of one user; the least recently used are removed
	Poll       time.Duration    // delay until a change of the accounts file takes effect
	Now        func() time.Time // nil means time.Now
	Logger     *slog.Logger     // for logins and refusals; nil means none
}

// Service authenticates users. It is safe for concurrent use. Refusals are of Kind Unauthenticated
// and say what to do, with two exceptions: too many failed logins return Limit with a RetryAfter,
// and Refresh for a removed account returns NotExist, since a login cannot help.
type Service struct {
	accounts *Accounts
	signer   *signer
	refresh  *refreshStore
	links    string // directory
	limiter  *limiter
	proven   *proven
	attempts singleflight.Group // of Authenticate
	opts     Options
}

// Tokens are the result of a login.
type Tokens struct {
	User           string
	Access         string    // authenticates requests; see Service.Verify
	Refresh        string    // obtains Access tokens; see Service.Refresh
	Expires        time.Time // of Access
	RefreshExpires time.Time
}

// Open returns the service with its files in dir, which must exist. It makes missing files.
func Open(ctx context.Context, dir string, opts Options) (*Service, error) {
	opts.AccessLife = cmp.Or(opts.AccessLife, DefaultAccessLife)
	opts.MaxRefresh = cmp.Or(opts.MaxRefresh, DefaultMaxRefresh)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	accounts, err := OpenAccounts(filepath.Join(dir, AccountsFile), AccountsOptions{
		Poll: opts.Poll, Now: opts.Now, Logger: opts.Logger,
	})
	if err != nil {
		return nil, err
	}
	key, err := loadOrMakeKey(ctx, filepath.Join(dir, "token.key"))
	if err != nil {
		return nil, err
	}
	return &Service{
		accounts: accounts,
		signer:   newSigner(key, opts.AccessLife, opts.Now),
		refresh:  &refreshStore{dir: filepath.Join(dir, "refresh"), most: opts.MaxRefresh, syncDir: syncDir},
		links:    filepath.Join(dir, "links"),
		limiter:  newLimiter(opts.Now),
		proven:   newProven(),
		opts:     opts,
	}, nil
}

// Accounts returns the accounts of the service.
func (s *Service) Accounts() *Accounts { return s.accounts }

// Login checks the password of a user at the address remote and begins a session.
func (s *Service) Login(ctx context.Context, user, password, remote string) (Tokens, error) {
	const op = "auth.Login"
	if err := pfs.CheckContext(ctx, op, ""); err != nil {
		return Tokens{}, err
	}
	account, err := s.checkPassword(ctx, op, user, password, remote)
	if err != nil {
		return Tokens{}, err
	}
	return s.begin(op, account)
}

// logRefused logs a refused login. It omits a name that is not an account's, because people type
// their password into the wrong field.
func (s *Service) logRefused(msg, user, remote string) {
	if _, err := s.accounts.Get(user); err != nil {
		user = "(unknown)"
	}
	s.opts.Logger.Warn(msg, "user", user, "remote", remote)
}

// begin makes the tokens of a new session.
func (s *Service) begin(op string, account Account) (Tokens, error) {
	refresh := newRefreshToken(account.Name)
	access, expires, err := s.signer.issue(account, refresh.session())
	if err != nil {
		return Tokens{}, err
	}
	now := s.opts.Now()
	r := refreshRecord{User: account.Name, Generation: account.Generation, Created: now, Expires: now.Add(RefreshLife)}
	if err := s.refresh.add(op, refresh, r); err != nil {
		return Tokens{}, err
	}
	return Tokens{
		User: account.Name, Access: access, Expires: expires,
		Refresh: refresh.String(), RefreshExpires: r.Expires,
	}, nil
}

// Issue returns an access token for the account name, and when it expires, for work that the service does for the account.
func (s *Service) Issue(name string) (token string, expires time.Time, err error) {
	account, err := s.accounts.Get(name)
	if err != nil {
		return "", time.Time{}, err
	}
	return s.signer.issue(account, "")
}

// Begin begins a session of the account name, for work elsewhere that the service does for the account. Logout ends it.
func (s *Service) Begin(name string) (Tokens, error) {
	account, err := s.accounts.Get(name)
	if err != nil {
		return Tokens{}, err
	}
	return s.begin("auth.Begin", account)
}

// Refresh returns a new access token. The refresh token stays the same.
func (s *Service) Refresh(ctx context.Context, refresh, remote string) (Tokens, error) {
	const op = "auth.Refresh"
	if err := pfs.CheckContext(ctx, op, ""); err != nil {
		return Tokens{}, err
	}
	token, ok := parseRefresh(refresh)
	if !ok {
		return Tokens{}, pfs.Errorf(op, "", pfs.Unauthenticated, "not a refresh token: log in again")
	}
	r, err := s.refresh.get(op, token)
	if errors.Is(err, fs.ErrNotExist) {
		s.opts.Logger.Warn("refresh token unknown", "remote", remote)
		return Tokens{}, pfs.Errorf(op, "", pfs.Unauthenticated, "the session has ended or was logged out: log in again")
	}
	if err != nil {
		return Tokens{}, err
	}
	if _, err := s.accounts.Get(r.User); err != nil { // keep the token until the sweep, so that a retry gets the same answer
		s.opts.Logger.Warn("refresh refused", "user", r.User, "remote", remote, "err", err)
		return Tokens{}, removed(op, r.User, pfs.NotExist)
	}
	account, err := s.accountOfGeneration(op, r.User, r.Generation)
	if err == nil && !s.opts.Now().Before(r.Expires) {
		err = pfs.Errorf(op, "", pfs.Unauthenticated, "the session ended at %s: log in again", r.Expires.UTC().Format(time.RFC3339))
	}
	if err != nil {
		s.opts.Logger.Warn("refresh refused", "user", r.User, "remote", remote, "err", err)
		s.note(s.refresh.remove(op, token))
		return Tokens{}, err
	}
	access, expires, err := s.signer.issue(account, token.session())
	if err != nil {
		return Tokens{}, err
	}
	s.note(s.refresh.used(op, token, s.opts.Now()))
	return Tokens{
		User: account.Name, Access: access, Expires: expires,
		Refresh: refresh, RefreshExpires: r.Expires,
	}, nil
}

// note logs a bookkeeping failure that does not concern the caller.
func (s *Service) note(err error) {
	if err != nil {
		s.opts.Logger.Warn("refresh tokens", "err", err)
	}
}

// accountOfGeneration returns the account name. It answers Unauthenticated if the account was removed,
// or if its password or role has changed since generation.
func (s *Service) accountOfGeneration(op, name, generation string) (Account, error) {
	account, err := s.accounts.Get(name)
	if err != nil {
		return Account{}, removed(op, name, pfs.Unauthenticated)
	}
	if account.Generation != generation {
		return Account{}, pfs.Errorf(op, "", pfs.Unauthenticated, "the password or role of %q was changed: log in again", name)
	}
	return account, nil
}

func removed(op, name string, kind pfs.Kind) error {
	return pfs.Errorf(op, "", kind, "account %q was removed: ask an administrator of the service", name)
}

// Logout ends the session of a refresh token and returns its user, if still known. A session that
// has already ended is not an error. Existing access tokens stay valid until they expire.
func (s *Service) Logout(ctx context.Context, refresh string) (user string, err error) {
	const op = "auth.Logout"
	if err := pfs.CheckContext(ctx, op, ""); err != nil {
		return "", err
	}
	token, ok := parseRefresh(refresh)
	if !ok {
		return "", pfs.Errorf(op, "", pfs.Unauthenticated, "not a refresh token: there is nothing to log out")
	}
	if r, err := s.refresh.get(op, token); err == nil {
		user = r.User
	}
	return user, s.refresh.remove(op, token)
}

// Verify returns the identity of an access token.
func (s *Service) Verify(ctx context.Context, access string) (Identity, error) {
	g, err := s.AuthenticateToken(ctx, access)
	return g.Identity, err
}

// Sweep removes refresh tokens and links that have become useless and returns their number.
func (s *Service) Sweep(ctx context.Context) (int, error) {
	const op = "auth.Sweep"
	now := s.opts.Now()
	n, err := s.refresh.sweep(ctx, op, now, func(r refreshRecord) bool {
		_, err := s.accountOfGeneration(op, r.User, r.Generation)
		return err != nil || !now.Before(r.Expires)
	})
	links, err2 := s.sweepLinks(ctx, op)
	return n + links, errors.Join(err, err2)
}
