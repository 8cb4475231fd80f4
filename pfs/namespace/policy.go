package namespace

import (
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

// policy is what an identity may do. It keeps the rules of permfs.Policy: Read,
// Write, Delete, Discard and Administer are allowed on a directory only where they are on
// everything below.
type policy struct {
	id     auth.Identity
	mounts map[pfs.Path]MappedDir // by where they appear
}

// opView is the Op of refusals.
const opView = "namespace.View"

// allow answers whether the access a to name is allowed.
func (p policy) allow(a pfs.Access, name pfs.Path) error {
	at := placeOf(name)
	switch at.kind {
	case nowhere:
		return nil // the mux says so
	case oneHome, inHome:
		return p.allowHome(a, name, at)
	case inPublic:
		return p.allowPublic(a, name)
	case oneMount, inMount:
		return p.allowMount(a, name, at)
	}
	return p.allowFixed(a, name, at)
}

// allowFixed answers for the directories that the tree is made of.
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
	return nil // Make too: it is there, which is success
}

// allowHome answers for a home and what is in it. An administrator may do
// everything to the homes of others: they may have to go with their accounts.
func (p policy) allowHome(a pfs.Access, name pfs.Path, at place) error {
	own := at.owner == p.id.Name
	switch {
	case !own && p.id.Role != auth.Admin:
		return pfs.Errorf(opView, name, pfs.Permission, "another user's home")
	case a == pfs.Administer:
		return p.allowAdmin(name)
	case own && a == pfs.Delete && at.kind == oneHome:
		return pfs.Errorf(opView, name, pfs.Invalid, "your home itself cannot be removed or renamed, only what is in it")
	}
	return nil
}

// allowPublic answers for what is public.
func (p policy) allowPublic(a pfs.Access, name pfs.Path) error {
	switch {
	case a == pfs.Administer || a == pfs.Discard: // the uploads of other publishers too
		return p.allowAdmin(name)
	case a.Changes() && p.id.Role != auth.Publisher && p.id.Role != auth.Admin:
		return pfs.Errorf(opView, name, pfs.Permission, "public datasets are changed by publishers only: an administrator makes you one (pfsd user role %s publisher)", p.id.Name)
	}
	return nil
}

// allowMount answers for a mapped directory and what is in it. To whoever may not enter
// one it is the same as one that there is not.
func (p policy) allowMount(a pfs.Access, name pfs.Path, at place) error {
	m, ok := p.mounts[at.mount]
	switch {
	case !ok && p.id.Role == auth.Admin:
		return nil // the mux says so
	case !ok || !m.admits(p.id):
		return pfs.Errorf(opView, name, pfs.Permission, "%s is no mapped directory, or none that you may enter", at.mount)
	case a.Changes() && m.ReadOnly:
		return readOnly(name, at.mount)
	case a == pfs.Administer || a == pfs.Discard:
		return p.allowAdmin(name)
	case at.kind == inMount:
		return nil
	case a == pfs.Delete:
		return pfs.Errorf(opView, name, pfs.Invalid, "a mapped directory itself cannot be removed or renamed, only what is in it")
	case a == pfs.Write:
		return pfs.Errorf(opView, name, pfs.ReadOnly, "a mapped directory itself cannot be changed")
	}
	return nil
}

// readOnly refuses a change at name for the sake of a mapped directory.
func readOnly(name, mount pfs.Path) error {
	return pfs.Errorf(opView, name, pfs.ReadOnly, "%s is mapped for reading only", mount)
}

// allowAbove answers for sweeps and quotas of a directory that the tree is made of: they
// are of all that is below, and so of no directory with one below that only is read.
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

// allowAdmin refuses at name what only an administrator may do.
func (p policy) allowAdmin(name pfs.Path) error {
	if p.id.Role != auth.Admin {
		return pfs.Errorf(opView, name, pfs.Permission, "this takes an administrator")
	}
	return nil
}
