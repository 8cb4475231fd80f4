package memfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// Rename gives oldName the name newName.
func (s *FS) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	return s.rename(ctx, rules.Rename{Op: "memfs.Rename", From: oldName, To: newName})
}

// RenameExclusive is Rename, but replaces nothing.
func (s *FS) RenameExclusive(ctx context.Context, oldName, newName pfs.Path) error {
	if err := s.need("memfs.RenameExclusive", newName, pfs.CanRenameNew); err != nil {
		return err
	}
	return s.rename(ctx, rules.Rename{Op: "memfs.RenameExclusive", From: oldName, To: newName, Exclusive: true})
}

func (s *FS) rename(ctx context.Context, r rules.Rename) error {
	if err := begin(ctx, r.Op, r.From); err != nil {
		return err
	}
	if err := begin(ctx, r.Op, r.To); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.find(r.Op, r.From)
	if err != nil {
		return err
	}
	if done, err := r.Begin(n.mode); done || err != nil {
		return err
	}
	from, err := s.changeable(r.Op, r.From)
	if err != nil {
		return err
	}
	dir, err := s.changeable(r.Op, r.To)
	if err != nil {
		return err
	}
	if old := s.child(dir, r.To.Base()); old == n && !r.Exclusive {
		return nil // two names of one file stay, as in POSIX
	} else if old != nil {
		if err := r.Replace(n.mode, old.mode); err != nil {
			return err
		}
	}
	if n.mode.IsDir() && s.can&pfs.CanRenameDir == 0 {
		return pfs.Errorf(r.Op, r.From, pfs.Unsupported, "directories are not renamed here")
	}
	return s.move(r.Op, n, from, dir, r.From, r.To)
}

// changeable returns the directory of name, in which the user may change names.
func (s *FS) changeable(op string, name pfs.Path) (*node, error) {
	dir, err := s.parent(op, name)
	if err == nil {
		err = s.may(op, name.Parent(), dir, change)
	}
	return dir, err
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
