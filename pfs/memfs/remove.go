package memfs

import (
	"context"
	"time"

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
	return s.remove(ctx, "memfs.RemoveTree", name, func(*node) error { return nil })
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
	if err := allow(n); err != nil {
		return err
	}
	if n.mode.IsDir() {
		s.discardAll(n)
	}
	s.unlink(name.Base(), n.parent)
	return nil
}

// Sweep removes the staged writes below dir that were last written longer than
// age ago.
func (s *FS) Sweep(ctx context.Context, dir pfs.Path, age time.Duration) (n int, bytes int64, err error) {
	const op = "memfs.Sweep"
	if err := begin(ctx, op, dir); err != nil {
		return 0, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	top, err := s.findDir(op, dir)
	if err != nil {
		return 0, 0, err
	}
	n, bytes = s.sweep(top, now().Add(-age))
	return n, bytes, nil
}

// sweep discards what was last touched before the time until, below top.
func (s *FS) sweep(top *node, until time.Time) (n int, bytes int64) {
	for _, st := range top.dir.staged {
		if !st.touched.After(until) {
			n, bytes = n+1, bytes+st.size
			s.discard(st)
		}
	}
	for _, e := range top.dir.entries {
		if e.node.mode.IsDir() {
			k, b := s.sweep(e.node, until)
			n, bytes = n+k, bytes+b
		}
	}
	return n, bytes
}
