// Package namespace makes of the stores of several datacenters the one tree that
// users see:
//
//	/pfs/DC/home/USER/...   the home of USER in the datacenter DC
//	/pfs/DC/public/...      the public datasets of DC
//	/pfs/public/...         those of the current datacenter
//	/pfs/DC/mnt/NAME/...    a directory that was in the store before, mapped into the tree
//	/pfs/DC/user/USER/...   the old spelling of a home: accepted, never listed
//
// On the store of a datacenter the first two are home/USER and public in its Dir.
//
// # Who may do what
//
// A user may do everything in the own home, but for removing or renaming the home
// itself, and may read what is public. Every access to another home is answered
// with Permission before any store is asked, so the answer is the same whatever is
// there; a listing of the homes shows the own one alone. A publisher also changes
// what is public. An administrator does that too, sees and changes every home, sets
// quotas and sweeps. A mapped directory is for those whom it admits, and for
// administrators; to all others it is the same as one that there is not.
//
// The directories that the tree is made of (/, /pfs, /pfs/DC, .../home, .../public,
// .../mnt, .../mnt/NAME) are fixed for everybody: to remove or rename one answers
// Invalid, as for a root, and to change one in another way ReadOnly.
//
// # Published datasets
//
// /pfs/DC/public/dataset/NAME/N is version N of a published dataset, N from 1 on. Once
// a manifest (.PREFIX.manifest) is in it, it is complete: every change of it, or of what
// is in it, answers ReadOnly to everybody, and so does removing or renaming the dataset.
// Only administrators remove a version, and then whoever may publish could make it
// anew. Two things are let in: the file .publishing of an unfinished version may still be
// removed, and where several services share a store, one may take up to a second to see
// the manifest that came through another.
//
// A file NAME/latest that holds the number of a version is shown as a link to that
// version. What opened a file through it goes on with that version. Such a file is written
// like any other.
//
// # Whose files are on the stores
//
// Where a store can give files to users (pfs.OwnershipGiver), a home and all that is
// made in it belong to its user, whoever makes it, and what is made in a mapped
// directory to whoever makes it; what is public belongs to the service. A rename
// changes no owner. Every access is made with the rights of the service, but in a mapped
// directory that keeps the store's permissions (pfs.Impersonator): there it is made as
// the user who asks. An identity without a name and numbers on the stores owns nothing
// there and enters no such directory.
//
// # Files
//
//	namespace, spelling              the tree for one who asks, and the spellings of its paths
//	place, policy                    what a path is by its place, and who may do what there
//	homes, makehome, others          homes as they are used, made, and worked on by administrators
//	published, version               complete versions of datasets, and their latest one
//	mapped                           mapped directories, and who may enter them
//	stores, muxes                    whose files are made, and the trees of the stores for each owner
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

	// Dir is the directory of FS that homes and public are in. It is made if only it
	// is missing. Default: the root.
	Dir pfs.Path

	// ServiceOwns leaves all files to the service, also where FS could give them to
	// users: it takes rights that the service may not have.
	ServiceOwns bool

	// Mapped are directories of FS that appear at /pfs/DC/mnt.
	Mapped []MappedDir

	// HomeQuota is given to homes that have no quota. Default: none.
	HomeQuota Quota
}

// Quota limits a directory; 0 means no limit.
type Quota struct {
	Bytes int64
	Files int64 // and directories
}

// at returns where the directory called name is on the store.
func (dc Datacenter) at(name string) pfs.Path { return cmp.Or(dc.Dir, pfs.Root).Join(name) }

// OwnDirs returns the directories of FS that are the namespace's own: that of the homes
// and the public one, under the names that they have in the tree.
func (dc Datacenter) OwnDirs() []pfs.Path { return []pfs.Path{dc.at(home), dc.at(public)} }

// CheckNames answers Invalid for names and directories of which no tree can be made: a
// name that is none, and a mapped directory by which homes, or what is public, had a
// second name. It does not ask the store.
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

// Config is what a Namespace is made of.
type Config struct {
	Datacenters []Datacenter // at least one, their file systems comparable with ==

	// Current is the datacenter that /pfs/public is of, and that an alias stands
	// for. Default: the first.
	Current string

	// Account returns the account of that name. With it administrators find the homes of
	// all accounts, and make none of no account. Default: not asked.
	Account func(name string) (id auth.Identity, ok bool)

	Logger *slog.Logger // default: discard
}

// Namespace is the tree. Its methods may be called from many goroutines.
type Namespace struct {
	datacenters []Datacenter
	current     string
	mounts      map[pfs.Path]MappedDir // by where they appear
	muxes       *muxes
	account     func(name string) (auth.Identity, bool) // nil: nobody knows
	log         *slog.Logger
	now         func() time.Time

	mu     sync.Mutex
	checks map[string]time.Time // when to look again at a home (DC/USER), a store (DC) or a version (its path)
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

// check refuses what no tree can be made of.
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
		return pfs.Errorf(op, "", pfs.Invalid, "the current datacenter %q is none of the %d configured", cfg.Current, len(cfg.Datacenters))
	}
	return nil
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
	if auth.CheckName(id.Name) != "" {
		id.Name = "" // the name of no home
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
