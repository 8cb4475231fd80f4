package memfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// tally is the totals of a tree. Every directory keeps the tally of everything below it, so that
// neither Usage nor a quota has to walk.
type tally struct{ bytes, files, dirs int64 }

func (t tally) plus(u tally) tally {
	return tally{t.bytes + u.bytes, t.files + u.files, t.dirs + u.dirs}
}

func (t tally) minus(u tally) tally {
	return tally{t.bytes - u.bytes, t.files - u.files, t.dirs - u.dirs}
}

// tally counts n and all below it.
func (n *node) tally() tally {
	if n.mode.IsDir() {
		return n.dir.sum.plus(tally{dirs: 1})
	}
	return tally{bytes: n.size(), files: 1}
}

// add changes the tallies of n, a directory, and all above it.
func (n *node) add(delta tally) {
	for ; n != nil; n = n.parent() {
		n.dir.sum = n.dir.sum.plus(delta)
	}
}

// checkQuota answers Quota if adding delta below n, a directory, exceeds a limit of n or of a
// directory above it. A change that adds nothing is never refused.
func (n *node) checkQuota(op string, name pfs.Path, delta tally) error {
	for ; n != nil; n = n.parent() {
		d, after := n.dir, n.dir.sum.plus(delta)
		if delta.bytes > 0 && d.maxBytes > 0 && after.bytes > d.maxBytes {
			return pfs.E(op, name, pfs.Quota, &pfs.OverQuota{Dir: n.name(), Limit: d.maxBytes, Used: d.sum.bytes, Need: delta.bytes})
		}
		if delta.files+delta.dirs > 0 && d.maxFiles > 0 && after.files+after.dirs > d.maxFiles {
			return pfs.E(op, name, pfs.Quota, &pfs.OverQuota{Dir: n.name(), Files: true, Limit: d.maxFiles, Used: d.sum.files + d.sum.dirs, Need: delta.files + delta.dirs})
		}
	}
	return nil
}

// name returns the name of n, a directory, "" for the root.
func (n *node) name() string {
	if n.parent() == nil {
		return ""
	}
	for name, e := range n.parent().dir.entries {
		if e.node == n {
			return name
		}
	}
	return ""
}

// checkSpace answers NoSpace if the store cannot take more bytes.
func (s *FS) checkSpace(op string, name pfs.Path, more int64) error {
	if free := s.space().Free; s.capacity > 0 && more > free {
		return pfs.Errorf(op, name, pfs.NoSpace, "%d bytes needed, %d free", more, free)
	}
	return nil
}

// space returns the size of the store; without a limit, the largest int64.
func (s *FS) space() pfs.Space {
	total := s.capacity
	if total <= 0 {
		total = 1<<63 - 1
	}
	used := s.root.dir.sum.bytes + s.staged
	return pfs.Space{Total: total, Used: used, Free: total - used}
}

// Space reports the capacity and how much of it is free.
func (s *FS) Space(ctx context.Context, name pfs.Path) (pfs.Space, error) {
	const op = "memfs.Space"
	if err := begin(ctx, op, name); err != nil {
		return pfs.Space{}, err
	}
	if err := s.need(op, name, pfs.CanSpace); err != nil {
		return pfs.Space{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if _, err := s.find(op, name); err != nil {
		return pfs.Space{}, err
	}
	return s.space(), nil
}

// Usage counts the tree below name.
func (s *FS) Usage(ctx context.Context, name pfs.Path) (pfs.Usage, error) {
	const op = "memfs.Usage"
	if err := begin(ctx, op, name); err != nil {
		return pfs.Usage{}, err
	}
	if err := s.need(op, name, pfs.CanUsage); err != nil {
		return pfs.Usage{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	n, err := s.findDir(op, name)
	if err == nil {
		err = s.may(op, name, n, read)
	}
	if err != nil {
		return pfs.Usage{}, err
	}
	d := n.dir
	return pfs.Usage{
		Bytes: d.sum.bytes, Files: d.sum.files, Dirs: d.sum.dirs,
		MaxBytes: d.maxBytes, MaxFiles: d.maxFiles,
	}, nil
}

// SetQuota limits the tree below name.
func (s *FS) SetQuota(ctx context.Context, name pfs.Path, maxBytes, maxFiles int64) error {
	const op = "memfs.SetQuota"
	if err := begin(ctx, op, name); err != nil {
		return err
	}
	if err := s.need(op, name, pfs.CanSetQuota); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.findDir(op, name)
	if err == nil && s.as {
		err = pfs.Errorf(op, name, pfs.Permission, "only the user of the store sets quotas")
	}
	if err != nil {
		return err
	}
	n.dir.maxBytes, n.dir.maxFiles = maxBytes, maxFiles
	return nil
}
