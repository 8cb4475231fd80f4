package localfs

import (
	"context"
	"errors"
	"os"

	"github.com/paddlecloud/pfs/pfs"
)

// Rename renames.
func (s *FS) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	return s.rename(ctx, "localfs.Rename", oldName, newName, false)
}

// RenameExclusive renames without replacing.
func (s *FS) RenameExclusive(ctx context.Context, oldName, newName pfs.Path) error {
	return s.rename(ctx, "localfs.RenameExclusive", oldName, newName, true)
}

func (s *FS) rename(ctx context.Context, op string, oldName, newName pfs.Path, exclusive bool) error {
	if err := begin(ctx, op, oldName); err != nil {
		return err
	}
	if err := pfs.CheckPath(op, newName); err != nil {
		return err
	}
	from, oldBase, err := s.parent(op, oldName)
	if err != nil {
		return err
	}
	defer from.Close()
	source, err := from.stat(oldBase)
	if err != nil {
		return fail(op, oldName, err)
	}
	if newName == pfs.Root {
		return pfs.E(op, newName, pfs.Exist, nil)
	}
	to, newBase, err := s.parent(op, newName)
	if err != nil {
		return err
	}
	defer to.Close()
	target, err := to.stat(newBase)
	exists := err == nil
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fail(op, newName, err)
	}
	switch {
	case oldName == newName && !exclusive:
		return nil
	case source.info.IsDir() && newName != oldName && newName.Within(oldName):
		return pfs.Errorf(op, newName, pfs.Invalid, "%s cannot be moved into itself", oldName)
	case exists && (exclusive || target.info.IsDir()):
		return pfs.E(op, newName, pfs.Exist, nil)
	case exists && source.info.IsDir():
		return pfs.E(op, newName, pfs.NotDir, nil)
	}
	undo, err := s.moveUsage(ctx, op, from, oldBase, source, oldName, newName)
	if err != nil {
		return err
	}
	move := from.rename
	if exclusive {
		move = from.renameExclusive
	}
	if err := move(oldBase, to, newBase); err != nil {
		undo()
		return fail(op, newName, err)
	}
	if exists {
		s.quotas.refund(newName, target.info.Size, 1)
	}
	if err := to.sync(); err != nil {
		return fail(op, newName, err)
	}
	return fail(op, oldName, from.sync())
}

// moveUsage charges the trees that newName is in, where oldName is not, and the other
// way round.
func (s *FS) moveUsage(ctx context.Context, op string, from *dir, base string, source statted, oldName, newName pfs.Path) (undo func(), err error) {
	nothing := func() {}
	if s.quotas.same(oldName, newName) {
		return nothing, nil
	}
	bytes, files := source.info.Size, int64(1)
	if source.info.IsDir() {
		u, err := from.usage(ctx, base)
		if err != nil {
			return nothing, fail(op, oldName, err)
		}
		bytes, files = u.Bytes, u.Files+u.Dirs+1
	}
	if err := s.quotas.charge(ctx, op, newName, bytes, files); err != nil {
		return nothing, err
	}
	s.quotas.refund(oldName, bytes, files)
	return func() {
		s.quotas.refund(newName, bytes, files)
		s.quotas.refund(oldName, -bytes, -files)
	}, nil
}
