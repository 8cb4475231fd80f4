// Package memfs is a pfs.FileSystem in memory: the reference implementation.
//
// It keeps every promise of package pfs and has all of its optional
// capabilities, in the plainest way that could do so; where the contract leaves a
// choice, it takes the strictest. It is meant for tests, and to be read beside the
// contract.
//
// The tree hangs under one lock. The content of a published file is never changed
// where it lies: a Commit puts a new node in its place, and a change in place
// copies the pages that it touches. So an open File reads the version it was
// opened on, whatever happens to the name.
package memfs

import (
	"context"
	"io/fs"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Options says how to make a file system. The zero value has no limit.
type Options struct {
	// Capacity is the size of the store in bytes: what files and staged writes
	// hold together. Writes beyond it answer NoSpace. 0 means no limit.
	Capacity int64
}

// FS is a file system in memory. Make one with New.
type FS struct {
	capacity int64

	mu     sync.RWMutex // guards the tree, and all of its nodes and stages
	root   *node
	staged int64  // bytes held by staged writes
	clock  uint64 // counts changes: versions and places in listings
}

var (
	_ pfs.FileSystem       = (*FS)(nil)
	_ pfs.Symlinker        = (*FS)(nil)
	_ pfs.Chmoder          = (*FS)(nil)
	_ pfs.Chtimer          = (*FS)(nil)
	_ pfs.Editor           = (*FS)(nil)
	_ pfs.ExclusiveRenamer = (*FS)(nil)
	_ pfs.TreeRemover      = (*FS)(nil)
	_ pfs.SpaceReporter    = (*FS)(nil)
	_ pfs.UsageReporter    = (*FS)(nil)
	_ pfs.QuotaSetter      = (*FS)(nil)
	_ pfs.Copier           = (*FS)(nil)
	_ pfs.Digester         = (*FS)(nil)
	_ pfs.BatchWriter      = (*FS)(nil)
	_ pfs.Sweeper          = (*FS)(nil)
)

// New returns an empty file system.
func New(opts Options) *FS {
	return &FS{capacity: opts.Capacity, root: newDir(0o755)}
}

// tick returns a number greater than all before.
func (s *FS) tick() uint64 {
	s.clock++
	return s.clock
}

// begin is what every operation does first.
func begin(ctx context.Context, op string, name pfs.Path) error {
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	return pfs.CheckContext(ctx, op, name)
}

// Stat describes name.
func (s *FS) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	const op = "memfs.Stat"
	if err := begin(ctx, op, name); err != nil {
		return pfs.Info{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	n, err := s.find(op, name)
	if err != nil {
		return pfs.Info{}, err
	}
	return n.info(name.Base()), nil
}

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
	return s.link(op, name, dir, newDir(mode))
}

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
	return s.link(op, name, dir, &node{mode: fs.ModeSymlink | 0o777, mtime: now(), target: target})
}

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
	set(n)
	return nil
}
