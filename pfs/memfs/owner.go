package memfs

import (
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
)

// acting is the owner of new files of an FS, and the rights with which it is used.
type acting struct {
	owner string
	as    bool // with the rights of owner instead of the store's
}

// WithOwner returns the same store, in which new files and directories belong to owner.Name.
func (s *FS) WithOwner(owner pfs.Owner) (pfs.FileSystem, error) {
	return s.other("memfs.WithOwner", acting{owner: owner.Name})
}

// Impersonate returns the same store with the rights of owner.Name.
func (s *FS) Impersonate(owner pfs.Owner) (pfs.FileSystem, error) {
	const op = "memfs.Impersonate"
	if owner.Name != "" && owner.Name == s.user {
		return nil, pfs.Errorf(op, "", pfs.Permission, "the store itself works as %s", owner.Name)
	}
	return s.other(op, acting{owner.Name, true})
}

// other returns the FS of w, always the same one.
func (s *FS) other(op string, w acting) (pfs.FileSystem, error) {
	if reason := pfs.CheckName(w.owner); reason != "" {
		return nil, pfs.Errorf(op, "", pfs.Invalid, "%q cannot be the name of a user: %s", w.owner, reason)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fsys := s.others[w]
	if fsys == nil {
		fsys = &FS{s.store, w}
		s.others[w] = fsys
	}
	return fsys, nil
}

// newDir makes an empty directory.
func (w acting) newDir(mode fs.FileMode) *node {
	return &node{mode: fs.ModeDir | mode.Perm(), mtime: now(), atime: now(), ctime: now(), owner: w.owner, dir: newDirectory()}
}

// access is an access to a node, as a permission bit of others.
type access fs.FileMode

const (
	enter  access = 1 // pass through a directory
	change access = 2 // write a file; make, remove or rename entries of a directory
	read   access = 4 // a file, or the names in a directory
)

// may answers Permission unless w may do all of a with n, the node at name.
func (w acting) may(op string, name pfs.Path, n *node, a access) error {
	bits := n.mode.Perm()
	if w.owner == n.owner {
		bits >>= 6
	}
	if w.as && access(bits)&a != a {
		return pfs.Errorf(op, name, pfs.Permission, "%s is %s's, with mode %v", name, n.owner, n.mode)
	}
	return nil
}

// owns answers Permission unless w owns n.
func (w acting) owns(op string, name pfs.Path, n *node) error {
	if w.as && w.owner != n.owner {
		return pfs.Errorf(op, name, pfs.Permission, "%s is %s's", name, n.owner)
	}
	return nil
}

// mayEmpty answers Permission unless w may remove all that is below n.
func (w acting) mayEmpty(op string, name pfs.Path, n *node) error {
	if !w.as || !n.mode.IsDir() || len(n.dir.entries) == 0 {
		return nil
	}
	if err := w.may(op, name, n, read|change|enter); err != nil {
		return err
	}
	for base, e := range n.dir.entries {
		if err := w.mayEmpty(op, name.Join(base), e.node); err != nil {
			return err
		}
	}
	return nil
}
