package auth

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// DefaultPoll is how often the accounts file is checked for changes.
const DefaultPoll = 2 * time.Second

// AccountsOptions configure Accounts. The zero value is valid.
type AccountsOptions struct {
	Poll   time.Duration    // maximum age of a view; 0 means DefaultPoll
	Now    func() time.Time // nil means time.Now
	Logger *slog.Logger     // for errors in a changed file; nil means none
}

// Accounts is the accounts file. Any number of processes may use it at a time; each sees the
// others' changes within the Poll of its options. It is safe for concurrent use.
type Accounts struct {
	path string
	opts AccountsOptions
	hash *hasher

	mu          sync.Mutex
	table       *table
	version     fs.FileInfo // version of the file that table was read from; nil if there is none
	looked      time.Time
	lastWarning string // so that each warning is logged once
}

// OpenAccounts opens the accounts file path. A missing file has no accounts; the first Add makes
// it. The error is Invalid for a malformed file and Permission for one that is open to everybody.
func OpenAccounts(path string, opts AccountsOptions) (*Accounts, error) {
	if opts.Poll <= 0 {
		opts.Poll = DefaultPoll
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Accounts{path: path, opts: opts, hash: newHasher()}
	t, version, err := readTable("auth.OpenAccounts", path)
	if err != nil {
		return nil, err
	}
	a.keep(t, version)
	return a, nil
}

// readTable reads the accounts file; if it is missing, it returns an empty table and no version.
func readTable(op, path string) (*table, fs.FileInfo, error) {
	data, version, err := readSecret(op, path, maxAccountsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return emptyTable(), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	t, err := decode(data)
	if err != nil {
		return nil, version, pfs.Errorf(op, "", pfs.Invalid, "accounts file %s: %w", path, err)
	}
	return t, version, nil
}

func (a *Accounts) keep(t *table, version fs.FileInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.table, a.version, a.looked = t, version, a.opts.Now()
}

// view returns the accounts, at most as old as the poll interval. While the file is unreadable or
// malformed, the accounts stay unchanged.
func (a *Accounts) view() *table {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := a.opts.Now(); now.Sub(a.looked) >= a.opts.Poll || now.Before(a.looked) {
		a.looked = now
		a.look()
	}
	return a.table
}

// viewNow returns the accounts as the file has them now, so that a user who was just added can log
// in.
func (a *Accounts) viewNow() *table {
	a.mu.Lock()
	a.looked = time.Time{}
	a.mu.Unlock()
	return a.view()
}

// look reads the file again if it changed.
func (a *Accounts) look() {
	now, err := os.Stat(a.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && a.version == nil:
		return // not made yet
	case err != nil:
		a.complain(err)
		return
	case a.version != nil && sameVersion(now, a.version):
		a.lastWarning = ""
		return
	}
	t, version, err := readTable("auth.Accounts", a.path)
	if err != nil {
		a.complain(err)
		return
	}
	a.table, a.version, a.lastWarning = t, version, ""
	a.opts.Logger.Info("accounts file read again", "file", a.path, "accounts", len(t.Accounts))
}

func (a *Accounts) complain(err error) {
	if text := err.Error(); text != a.lastWarning {
		a.lastWarning = text
		a.opts.Logger.Error("accounts file not usable: the last valid version stays in use", "file", a.path, "err", err)
	}
}

// update reads, changes and writes the file under its lock.
func (a *Accounts) update(ctx context.Context, op string, change func(*table) error) error {
	if err := pfs.CheckContext(ctx, op, ""); err != nil {
		return err
	}
	return withLock(ctx, op, a.path, func() error {
		t, _, err := readTable(op, a.path)
		if err != nil {
			return err
		}
		if err := change(t); err != nil {
			return err
		}
		data, err := t.encode()
		if err != nil {
			return fileError(op, err)
		}
		if err := writeFile(a.path, data); err != nil {
			return fileError(op, err)
		}
		version, err := os.Stat(a.path)
		a.keep(t, version)
		return fileError(op, err)
	})
}

// Get returns the account name, or NotExist.
func (a *Accounts) Get(name string) (Account, error) {
	r, ok := a.view().find(name)
	if !ok {
		return Account{}, notFound("auth.Get", name)
	}
	return r.account(), nil
}

// Has reports whether an account named name exists.
func (a *Accounts) Has(name string) bool {
	_, ok := a.view().find(name)
	return ok
}

// Identity returns the identity of the account named name; ok is false if there is none.
func (a *Accounts) Identity(name string) (id Identity, ok bool) {
	r, ok := a.view().find(name)
	if !ok {
		return Identity{}, false
	}
	return r.account().Identity, true
}

// List returns the accounts, sorted by name.
func (a *Accounts) List() []Account {
	t := a.view()
	list := make([]Account, len(t.Accounts))
	for i, r := range t.Accounts {
		list[i] = r.account()
	}
	slices.SortFunc(list, func(x, y Account) int { return strings.Compare(x.Name, y.Name) })
	return list
}

func notFound(op, name string) error {
	return pfs.Errorf(op, "", pfs.NotExist, "no account %q", name)
}
