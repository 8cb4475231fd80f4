// Package namespace makes of the stores of several datacenters the one tree that
// users see:
//
//	/pfs/DC/home/USER/...   the home of USER in the datacenter DC
//	/pfs/DC/public/...      the public datasets of DC
//	/pfs/public/...         those of the current datacenter
//	/pfs/DC/user/USER/...   the old spelling of a home: accepted, never listed
//
// On the store of a datacenter these are /home/USER and /public.
//
// # Who may do what
//
// A user may do everything in the own home, but for removing or renaming the home
// itself, and may read what is public. Every access to another home is answered
// with Permission before any store is asked, so the answer is the same whatever is
// there; a listing of the homes shows the own one alone. A publisher also changes
// what is public. An administrator does that too, sees and changes every home, sets
// quotas and sweeps.
//
// The directories that the tree is made of (/, /pfs, /pfs/DC, .../home, .../public)
// are fixed for everybody: to remove or rename one answers Invalid, as for a root,
// and to change one in another way ReadOnly.
package namespace

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/linkfs"
	"github.com/paddlecloud/pfs/pfs/permfs"
)

// Names in the tree and on the stores.
const (
	top    = pfs.Path("/pfs")
	home   = "home"
	public = "public"
	user   = "user" // the old spelling of home
)

// Datacenter is a store and the name that it has in the tree.
type Datacenter struct {
	Name string // one element of a path, and not "public"
	FS   pfs.FileSystem
}

// Config is what a Namespace is made of.
type Config struct {
	Datacenters []Datacenter // at least one, their file systems comparable with ==

	// Current is the datacenter that /pfs/public is of, and that an alias stands
	// for. Default: the first.
	Current string

	// Account reports whether there is an account of that name. With it administrators
	// find the homes of all accounts, and make none of no account. Default: not asked.
	Account func(name string) bool

	Logger *slog.Logger // default: discard
}

// Namespace is the tree. Its methods may be called from many goroutines.
type Namespace struct {
	datacenters []Datacenter
	current     string
	mux         *pfs.Layer
	account     func(name string) bool // nil: nobody knows
	log         *slog.Logger
	now         func() time.Time

	mu     sync.Mutex
	checks map[string]time.Time // when to look again at a home (DC/USER) or a store (DC)
}

// New returns the tree of the datacenters. It does not touch the stores: see
// EnsureLayout.
func New(cfg Config) (*Namespace, error) {
	if cfg.Current == "" && len(cfg.Datacenters) > 0 {
		cfg.Current = cfg.Datacenters[0].Name
	}
	if err := check(cfg); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	n := &Namespace{
		datacenters: slices.Clone(cfg.Datacenters), current: cfg.Current, account: cfg.Account, log: cfg.Logger,
		now: time.Now, checks: map[string]time.Time{},
	}
	n.mux = pfs.NewMux(n.mounts()...)
	return n, nil
}

// check refuses what no tree can be made of.
func check(cfg Config) error {
	const op = "namespace.New"
	seen := map[string]bool{}
	for _, dc := range cfg.Datacenters {
		reason := pfs.CheckName(dc.Name)
		switch {
		case reason != "":
			return pfs.Errorf(op, "", pfs.Invalid, "datacenter name %.80q: %s", dc.Name, reason)
		case dc.Name == public:
			return pfs.Errorf(op, "", pfs.Invalid, "a datacenter cannot be named %q: %s is the current one's", public, top.Join(public))
		case seen[dc.Name]:
			return pfs.Errorf(op, "", pfs.Invalid, "two datacenters are named %q", dc.Name)
		case dc.FS == nil:
			return pfs.Errorf(op, "", pfs.Invalid, "datacenter %q has no file system", dc.Name)
		}
		seen[dc.Name] = true
	}
	if !seen[cfg.Current] {
		return pfs.Errorf(op, "", pfs.Invalid, "the current datacenter %q is none of the %d configured", cfg.Current, len(cfg.Datacenters))
	}
	return nil
}

// mounts places the stores. That of /pfs/public is for the listing of /pfs: paths
// below it are spelled with their datacenter before they come to the mux.
func (n *Namespace) mounts() (ms []pfs.Mount) {
	for _, dc := range n.datacenters {
		at := top.Join(dc.Name)
		ms = append(ms,
			pfs.Mount{At: at.Join(home), FS: dc.FS, Dir: pfs.Root.Join(home)},
			pfs.Mount{At: at.Join(public), FS: dc.FS, Dir: pfs.Root.Join(public)})
		if dc.Name == n.current {
			ms = append(ms, pfs.Mount{At: top.Join(public), FS: dc.FS, Dir: pfs.Root.Join(public)})
		}
	}
	return ms
}

// has reports whether a datacenter has the name.
func (n *Namespace) has(name string) bool {
	return slices.ContainsFunc(n.datacenters, func(dc Datacenter) bool { return dc.Name == name })
}

// View returns the tree as id may see it, with its links followed.
//
// alias is a name by which the caller knows the current datacenter; empty for none.
// Where a datacenter has that name itself, or none could have it, it is not used.
// Else paths may be written with it as well as with the datacenter's own name,
// errors keep what was written, and the listing of /pfs shows it in place of the
// own name: a caller finds every datacenter once, under the name it knows.
func (n *Namespace) View(id auth.Identity, alias string) pfs.FileSystem {
	if pfs.CheckName(id.Name) != "" {
		id.Name = "" // the name of no home
	}
	if pfs.CheckName(alias) != "" || alias == public || n.has(alias) {
		alias = ""
	}
	var stores pfs.FileSystem = n.mux
	switch {
	case id.Role != auth.Admin:
		stores = &ownHome{n.mux, id.Name}
	case n.account != nil:
		stores = newOthers(n, stores)
	}
	return linkfs.New(newSpelled(n, alias, permfs.New(stores, policy{id}.allow)))
}

// known lists the datacenters for a message, the current one by its alias.
func (n *Namespace) known(alias string) string {
	var names []string
	for _, dc := range n.datacenters {
		name := dc.Name
		if name == n.current && alias != "" {
			name = alias
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
