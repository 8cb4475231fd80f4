package memfs

import (
	"context"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
)

// Symlink makes name a link to target.
func (s *FS) Symlink(ctx context.Context, target string, name pfs.Path) error {
	const op = "memfs.Symlink"
	if err := begin(ctx, op, name); err != nil {
		return err
	}
	if target == "" || len(target) > pfs.MaxPath {
		return pfs.Errorf(op, name, pfs.Invalid, "link target of %d bytes, it must have 1 to %d", len(target), pfs.MaxPath)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == pfs.Root {
		return pfs.E(op, name, pfs.Exist, nil)
	}
	dir, err := s.parent(op, name)
	if err != nil {
		return err
	}
	if dir.child(name.Base()) != nil {
		return pfs.E(op, name, pfs.Exist, nil)
	}
	if err := s.may(op, name.Parent(), dir, change); err != nil {
		return err
	}
	return s.link(op, name, dir, &node{mode: fs.ModeSymlink | 0o777, mtime: now(), owner: s.owner, target: target})
}
