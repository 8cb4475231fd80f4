package memfs

import (
	"context"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
)

// Mkdir makes the directory name.
func (s *FS) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	const op = "memfs.Mkdir"
	if err := begin(ctx, op, name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mkdir(op, name, mode)
}

// mkdir is Mkdir with the lock held.
func (s *FS) mkdir(op string, name pfs.Path, mode fs.FileMode) error {
	if name == pfs.Root {
		return nil
	}
	dir, err := s.parent(op, name)
	if err != nil {
		return err
	}
	if n := dir.child(name.Base()); n != nil {
		if n.mode.IsDir() {
			return nil
		}
		return pfs.E(op, name, pfs.Exist, nil)
	}
	if err := s.may(op, name.Parent(), dir, change); err != nil {
		return err
	}
	return s.link(op, name, dir, s.newDir(mode))
}
