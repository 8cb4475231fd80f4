// Package namespace makes one tree of the stores of several datacenters, the tree that users
// see:
//
//	/pfs/DC/home/USER/...   the home of USER in the datacenter DC
//	/pfs/DC/public/...      the public datasets of DC
//	/pfs/public/...         those of the current datacenter
//	/pfs/DC/mnt/NAME/...    an existing directory of the store, mapped into the tree
//	/pfs/DC/user/USER/...   the old spelling of a home: accepted, never listed
//
// On the store of a datacenter the first two are home/USER and public below its Dir.
//
// # Permissions
//
// Users may do everything in their own home, except removing or renaming the home itself, and may
// read public directories. Every access to another home answers Permission before any store is
// asked, so the answer does not depend on the files there. A listing of the homes shows only the
// user's own home. Publishers also change public directories. Administrators may do that too, see
// and change every home, set quotas and sweep. A mapped directory is visible to the users that it
// admits and to administrators; to all others it looks like a missing directory.
//
// The directories above these (/, /pfs, /pfs/DC, .../home, .../public, .../mnt, .../mnt/NAME) are
// fixed for everybody: removing or renaming one answers Invalid, as for a root, and any other
// change ReadOnly.
//
// # Published datasets
//
// /pfs/DC/public/dataset/NAME/N is version N of a published dataset, N from 1 on. A version is
// complete once it has a manifest (.PREFIX.manifest). Then every change in it answers ReadOnly to
// everybody, and so does removing or renaming the dataset. Only administrators may remove a version;
// after that a publisher may make it anew. There are two exceptions. The file .publishing of a
// complete version may still be removed. And if several services share a store, one of them may need
// up to a second to see a manifest that was written through another.
//
// A file NAME/latest that holds the number of a version is shown as a link to this version. A file
// that was opened through the link stays in its version. latest is written like any other file.
//
// # File owners on the stores
//
// If a store can give files to users (pfs.OwnershipGiver), a home and all files made in it belong to
// its user, whoever makes them. New files in a mapped directory belong to the user who makes them;
// public files belong to the service. A rename changes no owner. The service makes every access with
// its own rights, except in a mapped directory that keeps the store's permissions
// (pfs.Impersonator): there it acts as the requesting user. An identity without a name and numbers
// on the stores owns nothing there and may not enter such a directory.
//
// # Files
//
//	namespace, spelling              the tree as one user sees it, and the spellings of its paths
//	place, policy                    the classes of paths, and the permissions for each
//	homes, makehome, others          homes: use, creation, and work on them by administrators
//	published, version               complete versions of datasets, and their latest one
//	mapped                           mapped directories, and who may enter them
//	stores, muxes                    the owner of new files, and the trees of the stores for each owner
package namespace

import (
	"cmp"
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
	mnt    = "mnt"
	user   = "user" // the old spelling of home
)

// Datacenter is a store and the name that it has in the tree.
type Datacenter struct {
	Name string // one element of a path, and not "public"
	FS   pfs.FileSystem

	// Dir is the directory of FS that contains homes and public. If it is missing, it is created,
	// but not its parent. Default: the root.
	Dir pfs.Path

	// ServiceOwns leaves all files to the service even if FS could give them to users, which
	// takes rights that the service may not have.
	ServiceOwns bool

	// Mapped are directories of FS that appear at /pfs/DC/mnt.
	Mapped []MappedDir

	// HomeQuota is the quota of homes that have none of their own. Default: none.
	HomeQuota Quota
}

// Quota limits a directory; 0 means no limit.
type Quota struct {
	Bytes int64
	Files int64 // files and directories
}

// at returns the path of the directory name on the store.
func (dc Datacenter) at(name string) pfs.Path { return cmp.Or(dc.Dir, pfs.Root).Join(name) }

// OwnDirs returns the directories of FS that the namespace uses itself: those of the homes and of
// public.
func (dc Datacenter) OwnDirs() []pfs.Path { return []pfs.Path{dc.at(home), dc.at(public)} }

// CheckNames answers Invalid for invalid names, and for a mapped directory that would give homes
// or public a second name. It does no I/O.
func (dc Datacenter) CheckNames() error {
	const op = "namespace.CheckNames"
	if reason := pfs.CheckName(dc.Name); reason != "" {
		return pfs.Errorf(op, "", pfs.Invalid, "%s", reason)
	}
	if dc.Name == public {
		return pfs.Errorf(op, "", pfs.Invalid, "%s is the public tree of the current datacenter: choose another name", top.Join(public))
	}
	if dc.Dir != "" {
		if err := pfs.CheckPath(op, dc.Dir); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for _, m := range dc.Mapped {
		if seen[m.Name] {
			return pfs.Errorf(op, "", pfs.Invalid, "two mapped directories are named %q", m.Name)
		}
		seen[m.Name] = true
		if err := m.checkNames(op, dc.OwnDirs()); err != nil {
			return err
		}
	}
	return nil
}

// Config configures a Namespace.
type Config struct {
	Datacenters []Datacenter // at least one, their file systems comparable with ==

	// Current is the datacenter of /pfs/public, for which an alias stands. Default: the first.
	Current string

	// Account returns the account with the given name. With it administrators find the homes of all
	// accounts, and no home is created without an account. Default: not used.
	Account func(name string) (id auth.Identity, ok bool)

	Logger *slog.Logger // default: discard
}

// Namespace is the tree. Its methods may be called from many goroutines.
type Namespace struct {
	datacenters []Datacenter
	current     string
	mounts      map[pfs.Path]MappedDir // by their paths in the tree
	muxes       *muxes
	account     func(name string) (auth.Identity, bool) // may be nil
	log         *slog.Logger
	now         func() time.Time

	mu     sync.Mutex
	checks map[string]time.Time // when to check a home (DC/USER), a store (DC) or a version (its path) again
}

// New returns the tree of the datacenters. It does no I/O: see EnsureLayout.
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
		mounts: map[pfs.Path]MappedDir{}, now: time.Now, checks: map[string]time.Time{},
	}
	for i, dc := range n.datacenters {
		n.datacenters[i].Dir = cmp.Or(dc.Dir, pfs.Root)
		for _, m := range dc.Mapped {
			n.mounts[mountPath(dc.Name, m.Name)] = m
		}
	}
	n.muxes = newMuxes(n.datacenters, n.current)
	return n, nil
}

// check refuses an invalid configuration.
func check(cfg Config) error {
	const op = "namespace.New"
	seen := map[string]bool{}
	for _, dc := range cfg.Datacenters {
		if err := dc.CheckNames(); err != nil {
			return pfs.Errorf(op, "", pfs.KindOf(err), "datacenter %.80q: %w", dc.Name, err)
		}
		switch {
		case seen[dc.Name]:
			return pfs.Errorf(op, "", pfs.Invalid, "two datacenters are named %q", dc.Name)
		case dc.FS == nil:
			return pfs.Errorf(op, "", pfs.Invalid, "datacenter %q has no file system", dc.Name)
		}
		seen[dc.Name] = true
	}
	if !seen[cfg.Current] {
		return pfs.Errorf(op, "", pfs.Invalid, "the current datacenter %q is not one of the %d configured", cfg.Current, len(cfg.Datacenters))
	}
	return nil
}

// has reports whether a datacenter has the name.
func (n *Namespace) has(name string) bool {
	return slices.ContainsFunc(n.datacenters, func(dc Datacenter) bool { return dc.Name == name })
}

// View returns the tree as id may see it, with its links followed.
//
// alias is the caller's own name for the current datacenter, "" if it has none. It is ignored if
// it is the name of a datacenter or cannot be one. Otherwise paths may use it as well as the
// datacenter's own name, errors keep the name that was used, and the listing of /pfs shows the
// alias only: a caller finds every datacenter once, under the name it knows.
func (n *Namespace) View(id auth.Identity, alias string) pfs.FileSystem {
	if auth.CheckName(id.Name) != "" {
		id.Name = "" // no home has this name
	}
	if pfs.CheckName(alias) != "" || alias == public || n.has(alias) {
		alias = ""
	}
	var below pfs.FileSystem = newHomes(n, id, newStores(n, id))
	if id.Role == auth.Admin && n.account != nil {
		below = newOthers(n, below)
	}
	return linkfs.New(newSpelled(n, alias, permfs.New(newPublished(n, id, below), policy{id, n.mounts}.allow)))
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
