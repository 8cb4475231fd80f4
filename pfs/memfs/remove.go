package memfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// Remove removes the file, link or empty directory name.
func (s *FS) Remove(ctx context.Context, name pfs.Path) error {
	return s.remove(ctx, "memfs.Remove", name, func(n *node) error {
		if n.mode.IsDir() && len(n.dir.entries) > 0 {
			return pfs.E("memfs.Remove", name, pfs.NotEmpty, nil)
		}
		return nil
	})
}

// RemoveTree removes name and all below it, at once.
func (s *FS) RemoveTree(ctx context.Context, name pfs.Path) error {
	const op = "memfs.RemoveTree"
	return s.remove(ctx, op, name, func(n *node) error { return s.mayEmpty(op, name, n) })
}

// remove removes name if allow does not object.
func (s *FS) remove(ctx context.Context, op string, name pfs.Path, allow func(*node) error) error {
	if err := begin(ctx, op, name); err != nil {
		return err
	}
	if name == pfs.Root {
		return pfs.Errorf(op, name, pfs.Invalid, "the root cannot be removed")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.find(op, name)
	if err != nil {
		return err
	}
	dir, err := s.changeable(op, name)
	if err != nil {
		return err
	}
	if err := allow(n); err != nil {
		return err
	}
	if n.mode.IsDir() {
		s.discardAll(n)
	}
	s.unlink(name.Base(), dir)
	return nil
}
