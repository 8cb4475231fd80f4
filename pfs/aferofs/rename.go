package aferofs

import (
	"context"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
)

// Rename gives oldName the name newName.
func (s *store) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	const op = "aferofs.Rename"
	return s.rename(ctx, op, oldName, newName, func(what, old fs.FileInfo) error {
		switch {
		case old == nil || oldName == newName:
			return nil
		case old.IsDir():
			return pfs.E(op, newName, pfs.Exist, nil)
		case what.IsDir():
			return pfs.E(op, newName, pfs.NotDir, nil)
		}
		return nil
	})
}

// RenameExclusive is Rename that replaces nothing.
func (s *store) RenameExclusive(ctx context.Context, oldName, newName pfs.Path) error {
	const op = "aferofs.RenameExclusive"
	return s.rename(ctx, op, oldName, newName, func(_, old fs.FileInfo) error {
		if old != nil {
			return pfs.E(op, newName, pfs.Exist, nil)
		}
		return nil
	})
}

// rename renames if allow, told what is renamed and what is at newName, does not
// object.
func (s *store) rename(ctx context.Context, op string, oldName, newName pfs.Path, allow func(what, old fs.FileInfo) error) error {
	if err := s.begin(ctx, op, oldName); err != nil {
		return err
	}
	if err := s.begin(ctx, op, newName); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	what, err := s.find(op, oldName)
	if err != nil {
		return err
	}
	if what.IsDir() && newName != oldName && newName.Within(oldName) {
		return pfs.Errorf(op, newName, pfs.Invalid, "a directory cannot be moved into itself")
	}
	old, err := s.taken(op, newName)
	if err == nil {
		err = allow(what, old)
	}
	if err != nil || oldName == newName {
		return err
	}
	return s.move(op, oldName, newName)
}

// move renames with the lock held.
func (s *store) move(op string, oldName, newName pfs.Path) error {
	if err := s.afs.Rename(s.real(oldName), s.real(newName)); err != nil {
		return fail(op, oldName, err)
	}
	s.gone(newName)
	s.moved(oldName)
	if err := s.changed(op, newName); err != nil {
		return err
	}
	if err := s.syncDir(op, newName.Parent()); err != nil {
		return err
	}
	return s.syncDir(op, oldName.Parent())
}

// moved ends the uploads below from, which has another name now. Their temporaries have
// gone along.
func (s *store) moved(from pfs.Path) {
	for temp, u := range s.uploads {
		if u.name.Parent().Within(from) {
			u.gone = true
			delete(s.uploads, temp)
		}
	}
}
