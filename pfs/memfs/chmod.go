package memfs

import (
	"context"
	"io/fs"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Chmod sets the permission bits of name.
func (s *FS) Chmod(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	return s.setAttr(ctx, "memfs.Chmod", name, func(n *node) {
		n.mode = n.mode.Type() | mode.Perm()
	})
}

// Chtime sets the modification time of name.
func (s *FS) Chtime(ctx context.Context, name pfs.Path, mtime time.Time) error {
	return s.setAttr(ctx, "memfs.Chtime", name, func(n *node) { n.mtime = mtime.Round(0) })
}

func (s *FS) setAttr(ctx context.Context, op string, name pfs.Path, set func(*node)) error {
	if err := begin(ctx, op, name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.find(op, name)
	if err != nil {
		return err
	}
	if n.isLink() {
		return pfs.E(op, name, pfs.Symlink, nil)
	}
	if err := s.owns(op, name, n); err != nil {
		return err
	}
	set(n)
	return nil
}
