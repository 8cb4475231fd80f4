package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

// MappedDir is a directory of a datacenter's store that appears at /pfs/DC/mnt/NAME.
type MappedDir struct {
	Name     string   // one element of a path
	Dir      pfs.Path // on the store; neither in nor above the directories of homes and public
	ReadOnly bool
	Access   AccessList

	// AsUser applies the store's own permissions: every access is made as the requesting user. The
	// store must be a pfs.Impersonator.
	AsUser bool
}

// AccessList lists who may enter a mapped directory. Administrators always may.
type AccessList struct {
	Everybody bool
	Users     []string
	Roles     []auth.Role // each with the roles that include it
}

// admits reports whether id may enter.
func (m MappedDir) admits(id auth.Identity) bool {
	return id.Role == auth.Admin || m.Access.Everybody || slices.Contains(m.Access.Users, id.Name) ||
		slices.Contains(m.Access.Roles, id.Role) || id.Role == auth.Publisher && slices.Contains(m.Access.Roles, auth.User)
}

// checkNames refuses an invalid name, and a directory that is within one of own or above it.
func (m MappedDir) checkNames(op string, own []pfs.Path) error {
	if reason := pfs.CheckName(m.Name); reason != "" {
		return pfs.Errorf(op, "", pfs.Invalid, "name %.80q of a mapped directory: %s", m.Name, reason)
	}
	if err := pfs.CheckPath(op, m.Dir); err != nil {
		return err
	}
	for _, dir := range own {
		if at := m.Live(); at.Within(dir) || dir.Within(at) {
			return pfs.Errorf(op, "", pfs.Invalid, "the directory %s, to be mapped as %q, and %s overlap: files in both would have two names and two sets of rules",
				m.Dir, m.Name, dir)
		}
	}
	return nil
}

// Live returns Dir, or the directory that Dir is a snapshot of: HDFS and CephFS show the snapshots
// of a directory below a special name in it. /.reserved of HDFS shows the whole tree again.
func (m MappedDir) Live() pfs.Path {
	at, skip := pfs.Root, false
	for name := range m.Dir.Names() {
		switch {
		case skip:
			skip = false
		case name == ".snapshot" || name == ".snap":
			skip = true
		case name == ".reserved" && at == pfs.Root:
			return pfs.Root
		default:
			at = at.Join(name)
		}
	}
	return at
}

// CheckMapped checks the mapped directories: each must be a directory of the store, reached
// without links, and pass CheckAsUser. Its error has the faults of all, or why the store cannot be
// reached.
func (dc Datacenter) CheckMapped(ctx context.Context) error {
	if err := dc.CheckAsUser(); err != nil {
		return err
	}
	var faults error
	for _, m := range dc.Mapped {
		err := m.try(ctx, dc.FS)
		if err == nil {
			continue
		}
		this := fmt.Errorf("mapped directory %q: %w", m.Name, err)
		switch kind := pfs.KindOf(err); {
		case kind.Temporary() || kind == pfs.Canceled:
			return pfs.Errorf(opMapped, "", kind, "%w", this)
		case faults == nil:
			faults = this
		default:
			faults = fmt.Errorf("%w; %w", faults, this)
		}
	}
	if faults == nil {
		return nil
	}
	return pfs.Errorf(opMapped, "", pfs.KindOf(faults), "%w", faults)
}

const opMapped = "namespace.CheckMapped"

// CheckAsUser answers Unsupported if a mapped directory keeps the store's permissions and the
// store cannot act as users. It does no I/O.
func (dc Datacenter) CheckAsUser() error {
	for _, m := range dc.Mapped {
		if !m.AsUser {
			continue
		}
		if _, err := pfs.Impersonate(dc.FS, somebody); errors.Is(err, pfs.Unsupported) {
			return pfs.Errorf("namespace.CheckAsUser", "", pfs.Unsupported, "mapped directory %q: the store's permissions need a store that lets the service act as its users: %w", m.Name, err)
		}
	}
	return nil
}

// somebody is a user that any store could have.
var somebody = pfs.Owner{Name: "nobody", UID: 65534, GID: 65534}

func (m MappedDir) try(ctx context.Context, store pfs.FileSystem) error {
	info, err := store.Stat(ctx, m.Dir)
	switch {
	case err != nil:
		return err
	case info.IsLink():
		return pfs.Errorf(opMapped, m.Dir, pfs.Symlink, "a link: map the directory that it leads to, %s", info.Target)
	case !info.IsDir():
		return pfs.E(opMapped, m.Dir, pfs.NotDir, nil)
	}
	return nil
}
