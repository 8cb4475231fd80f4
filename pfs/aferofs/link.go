package aferofs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
)

// Symlink makes name a link to target. It is made under a hidden name first: some
// file systems of afero write another target than they were given, and those
// answer Unsupported.
func (s *store) Symlink(ctx context.Context, target string, name pfs.Path) error {
	const op = "aferofs.Symlink"
	if err := s.begin(ctx, op, name); err != nil {
		return err
	}
	l, ok := s.afs.(afero.Linker)
	if !ok {
		return pfs.E(op, name, pfs.Unsupported, nil)
	}
	if target == "" || len(target) > pfs.MaxPath {
		return pfs.Errorf(op, name, pfs.Invalid, "link target of %d bytes, it must have 1 to %d", len(target), pfs.MaxPath)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == pfs.Root {
		return pfs.E(op, name, pfs.Exist, nil)
	}
	if err := s.parent(op, name); err != nil {
		return err
	}
	temp := s.temp(name, pfs.NewID())
	if err := s.linkAs(op, name, l, target, temp); err != nil {
		return err
	}
	if err := s.place(op, name, temp); err != nil {
		s.afs.Remove(temp)
		return err
	}
	return s.syncDir(op, name.Parent())
}

// place gives the link temp the name, if nothing has it.
func (s *store) place(op string, name pfs.Path, temp string) error {
	old, err := s.taken(op, name)
	if err != nil {
		return err
	}
	if old != nil {
		return pfs.E(op, name, pfs.Exist, nil)
	}
	return fail(op, name, s.afs.Rename(temp, s.real(name)))
}

// linkAs makes the name temp a link to exactly target, for the link name.
func (s *store) linkAs(op string, name pfs.Path, l afero.Linker, target, temp string) error {
	err := l.SymlinkIfPossible(target, temp)
	switch kind := kindOf(err); {
	case err == nil && s.target(temp) == target:
		return nil
	case err == nil:
		s.afs.Remove(temp)
	case kind != pfs.Unsupported && kind != pfs.NotExist: // the parent is there: it is the target that does not suit
		return fail(op, name, err)
	}
	return pfs.Errorf(op, name, pfs.Unsupported, "%s cannot keep the target of a link as it is written", s.afs.Name())
}
