package namespace

import (
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

// policy is the rights of an identity. It obeys the rules of permfs.Policy: it allows Read, Write,
// Delete, Discard and Administer on a directory only if it allows them on everything below.
type policy struct {
	id     auth.Identity
	mounts map[pfs.Path]MappedDir // by their paths in the tree
}

// opView is the Op of refusals.
const opView = "namespace.View"

// allow returns nil if the access a to name is allowed.
func (p policy) allow(a pfs.Access, name pfs.Path) error {
	at := placeOf(name)
	switch at.kind {
	case nowhere:
		return nil // the mux answers
	case oneHome, inHome:
		return p.allowHome(a, name, at)
	case inPublic:
		return p.allowPublic(a, name)
	case oneMount, inMount:
		return p.allowMount(a, name, at)
	}
	return p.allowFixed(a, name, at)
}

// allowFixed decides about the fixed directories of the tree.
func (p policy) allowFixed(a pfs.Access, name pfs.Path, at place) error {
	switch a {
	case pfs.Delete:
		return pfs.Errorf(opView, name, pfs.Invalid, "a fixed directory of the tree cannot be removed or renamed")
	case pfs.Write:
		return pfs.Errorf(opView, name, pfs.ReadOnly, "a fixed directory of the tree cannot be changed")
	case pfs.Administer, pfs.Discard:
		return p.allowAbove(name)
	case pfs.Read:
		if at.kind == thePublic || at.kind != above && p.id.Role == auth.Admin {
			return nil
		}
		return pfs.E(opView, name, pfs.IsDir, nil)
	}
	return nil // even Make: the directory exists, which is success
}

// allowHome decides about a home and the entries below it. Administrators may do everything to the
// homes of others, for example remove those of removed accounts.
func (p policy) allowHome(a pfs.Access, name pfs.Path, at place) error {
	own := at.owner == p.id.Name
	switch {
	case !own && p.id.Role != auth.Admin:
		return pfs.Errorf(opView, name, pfs.Permission, "another user's home")
	case a == pfs.Administer:
		return p.allowAdmin(name)
	case own && a == pfs.Delete && at.kind == oneHome:
		return pfs.Errorf(opView, name, pfs.Invalid, "your home itself cannot be removed or renamed, only its entries")
	}
	return nil
}

// allowPublic decides about the public directory and the entries below it.
func (p policy) allowPublic(a pfs.Access, name pfs.Path) error {
	switch {
	case a == pfs.Administer || a == pfs.Discard: // Discard includes other publishers' uploads
		return p.allowAdmin(name)
	case a.Changes() && p.id.Role != auth.Publisher && p.id.Role != auth.Admin:
		return pfs.Errorf(opView, name, pfs.Permission, "only publishers change public datasets: an administrator makes you one (pfsd user role %s publisher)", p.id.Name)
	}
	return nil
}

// allowMount decides about a mapped directory and the entries below it. Those who may not enter it
// get the same answers as for a missing one.
func (p policy) allowMount(a pfs.Access, name pfs.Path, at place) error {
	m, ok := p.mounts[at.mount]
	switch {
	case !ok && p.id.Role == auth.Admin:
		return nil // the mux answers
	case !ok || !m.admits(p.id):
		return pfs.Errorf(opView, name, pfs.Permission, "%s does not exist or is not open to you", at.mount)
	case a.Changes() && m.ReadOnly:
		return readOnly(name, at.mount)
	case a == pfs.Administer || a == pfs.Discard:
		return p.allowAdmin(name)
	case at.kind == inMount:
		return nil
	case a == pfs.Delete:
		return pfs.Errorf(opView, name, pfs.Invalid, "a mapped directory itself cannot be removed or renamed, only its entries")
	case a == pfs.Write:
		return pfs.Errorf(opView, name, pfs.ReadOnly, "a mapped directory itself cannot be changed")
	}
	return nil
}

// readOnly refuses a change at name because of a mapped directory.
func readOnly(name, mount pfs.Path) error {
	return pfs.Errorf(opView, name, pfs.ReadOnly, "%s is mapped read-only", mount)
}

// allowAbove decides about sweeps and quotas of fixed directories. They affect everything below,
// so they are refused where a mapped directory below is read-only.
func (p policy) allowAbove(name pfs.Path) error {
	if err := p.allowAdmin(name); err != nil {
		return err
	}
	for at, m := range p.mounts {
		if m.ReadOnly && at.Within(name) {
			return readOnly(name, at)
		}
	}
	return nil
}

// allowAdmin refuses an operation that only an administrator may do.
func (p policy) allowAdmin(name pfs.Path) error {
	if p.id.Role != auth.Admin {
		return pfs.Errorf(opView, name, pfs.Permission, "only administrators may do this")
	}
	return nil
}
