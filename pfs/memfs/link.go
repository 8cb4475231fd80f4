package memfs

import (
	"context"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
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
	return s.makeNode(op, name, pfs.CanSymlink, &node{mode: fs.ModeSymlink | 0o777, target: target})
}

// Mknod makes a FIFO, socket or device.
func (s *FS) Mknod(ctx context.Context, name pfs.Path, mode fs.FileMode, device uint64) error {
	const op = "memfs.Mknod"
	if err := begin(ctx, op, name); err != nil {
		return err
	}
	if err := rules.Mknod(op, name, mode); err != nil {
		return err
	}
	if mode&fs.ModeDevice == 0 {
		device = 0
	}
	return s.makeNode(op, name, pfs.CanMknod, &node{mode: mode.Type() | mode.Perm(), device: device})
}

// makeNode makes n the new entry name, if the store has the capabilities c.
func (s *FS) makeNode(op string, name pfs.Path, c pfs.Capabilities, n *node) error {
	if err := s.need(op, name, c); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n.mtime, n.atime, n.owner = now(), now(), s.owner
	return s.linkNew(op, name, n)
}

// linkNew makes n the entry name, which must not exist.
func (s *FS) linkNew(op string, name pfs.Path, n *node) error {
	if name == pfs.Root {
		return pfs.E(op, name, pfs.Exist, nil)
	}
	dir, err := s.parent(op, name)
	if err != nil {
		return err
	}
	if s.child(dir, name.Base()) != nil {
		return pfs.E(op, name, pfs.Exist, nil)
	}
	if err := s.may(op, name.Parent(), dir, change); err != nil {
		return err
	}
	return s.link(op, name, dir, n)
}

// HardLink gives the file oldName the second name newName. Users must own the file, as on Linux;
// else they could keep what the owner removes.
func (s *FS) HardLink(ctx context.Context, oldName, newName pfs.Path) error {
	const op = "memfs.HardLink"
	if err := begin(ctx, op, oldName); err != nil {
		return err
	}
	if err := begin(ctx, op, newName); err != nil {
		return err
	}
	if err := s.need(op, newName, pfs.CanHardLink); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.find(op, oldName)
	switch {
	case err != nil:
		return err
	case n.mode.IsDir():
		return pfs.E(op, oldName, pfs.IsDir, nil)
	}
	if err := s.owns(op, oldName, n); err != nil {
		return err
	}
	return s.linkNew(op, newName, n)
}
