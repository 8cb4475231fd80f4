package memfs

import "github.com/paddlecloud/pfs/pfs"

// finder is one of find, findNoLink, findDir and findFile.
type finder func(s *FS, op string, name pfs.Path) (*node, error)

// find returns the node at name, which may be a link.
func (s *FS) find(op string, name pfs.Path) (*node, error) {
	if name == pfs.Root {
		return s.root, nil
	}
	dir, err := s.parent(op, name)
	if err != nil {
		return nil, err
	}
	n := s.child(dir, name.Base())
	if n == nil {
		return nil, pfs.E(op, name, pfs.NotExist, nil)
	}
	return n, nil
}

// child returns the entry of that name of dir, nil if users see none.
func (s *FS) child(dir *node, name string) *node {
	if n := dir.child(name); n != nil && !s.hides(n) {
		return n
	}
	return nil
}

// hides reports whether n is a directory without a file below it in a store that does not
// keep those. It stays in the tree, so that uploads can begin in it.
func (s *FS) hides(n *node) bool {
	return s.can&pfs.CanKeepEmptyDir == 0 && n.mode.IsDir() && n.dir.sum.files == 0
}

// parent returns the directory that holds or may hold name, which is not the root. Everything
// above name must be a directory.
func (s *FS) parent(op string, name pfs.Path) (*node, error) {
	n, at := s.root, pfs.Root
	for elem := range name.Parent().Names() {
		if err := s.may(op, at, n, enter); err != nil {
			return nil, err
		}
		at = at.Join(elem)
		n = n.child(elem)
		switch {
		case n == nil:
			return nil, pfs.Errorf(op, name, pfs.NotExist, "there is no directory %s", at)
		case n.isLink():
			return nil, pfs.E(op, at, pfs.Symlink, nil)
		case !n.mode.IsDir():
			return nil, pfs.E(op, at, pfs.NotDir, nil)
		}
	}
	return n, s.may(op, at, n, enter)
}

// findNoLink is find of anything but a link.
func (s *FS) findNoLink(op string, name pfs.Path) (*node, error) {
	n, err := s.find(op, name)
	if err == nil && n.isLink() {
		err = pfs.E(op, name, pfs.Symlink, nil)
	}
	return n, err
}

// findDir returns the directory name.
func (s *FS) findDir(op string, name pfs.Path) (*node, error) {
	n, err := s.findNoLink(op, name)
	if err == nil && !n.mode.IsDir() {
		err = pfs.E(op, name, pfs.NotDir, nil)
	}
	return n, err
}

// findFile returns the regular file name.
func (s *FS) findFile(op string, name pfs.Path) (*node, error) {
	n, err := s.findNoLink(op, name)
	switch {
	case err != nil:
	case n.mode.IsDir():
		err = pfs.E(op, name, pfs.IsDir, nil)
	case !n.mode.IsRegular():
		err = pfs.Errorf(op, name, pfs.Invalid, "a special file (%v) has no content", n.mode.Type())
	}
	return n, err
}
