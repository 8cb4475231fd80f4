package memfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// Rename gives oldName the name newName.
func (s *FS) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	return s.rename(ctx, "memfs.Rename", oldName, newName, func(n, old *node) error {
		switch {
		case old == nil || old == n:
			return nil
		case old.mode.IsDir():
			return pfs.E("memfs.Rename", newName, pfs.Exist, nil)
		case n.mode.IsDir():
			return pfs.E("memfs.Rename", newName, pfs.NotDir, nil)
		}
		return nil
	})
}

// RenameExclusive is Rename, but replaces nothing.
func (s *FS) RenameExclusive(ctx context.Context, oldName, newName pfs.Path) error {
	if err := s.need("memfs.RenameExclusive", newName, pfs.CanRenameNew); err != nil {
		return err
	}
	return s.rename(ctx, "memfs.RenameExclusive", oldName, newName, func(_, old *node) error {
		if old != nil {
			return pfs.E("memfs.RenameExclusive", newName, pfs.Exist, nil)
		}
		return nil
	})
}

// rename moves a node if allow, called with the node and the one at newName, does not object.
func (s *FS) rename(ctx context.Context, op string, oldName, newName pfs.Path, allow func(n, old *node) error) error {
	if err := begin(ctx, op, oldName); err != nil {
		return err
	}
	if err := begin(ctx, op, newName); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.find(op, oldName)
	if err != nil {
		return err
	}
	var from *node
	if oldName != pfs.Root {
		if from, err = s.parent(op, oldName); err == nil {
			err = s.may(op, oldName.Parent(), from, change)
		}
		if err != nil {
			return err
		}
	}
	if newName == pfs.Root {
		return allow(n, s.root)
	}
	if newName.Within(oldName) && newName != oldName && n.mode.IsDir() {
		return pfs.Errorf(op, newName, pfs.Invalid, "a directory cannot be moved into itself")
	}
	dir, err := s.parent(op, newName)
	if err == nil {
		err = s.may(op, newName.Parent(), dir, change)
	}
	if err != nil {
		return err
	}
	old := s.child(dir, newName.Base())
	if err := allow(n, old); err != nil || old == n {
		return err // two names of one file stay, as in POSIX
	}
	if n.mode.IsDir() && s.can&pfs.CanRenameDir == 0 {
		return pfs.Errorf(op, oldName, pfs.Unsupported, "directories are not renamed here")
	}
	return s.move(op, n, from, dir, oldName, newName)
}

// move moves n from oldName in from to newName in dir, replacing an existing entry. It removes the
// old entry first, so that a quota above both counts n once.
func (s *FS) move(op string, n, from, dir *node, oldName, newName pfs.Path) error {
	delta := n.tally()
	from.add(tally{}.minus(delta))
	if err := s.link(op, newName, dir, n); err != nil {
		from.add(delta)
		return err
	}
	from.dir.drop(oldName.Base())
	n.leave(from)
	from.touch()
	return nil
}
