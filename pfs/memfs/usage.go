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
func (s *FS) Space(ctx context.Context, name pfs.Path) (space pfs.Space, err error) {
	err = s.on(ctx, s.mu.RLocker(), "memfs.Space", name, (*FS).find, pfs.CanSpace, 0, func(*node) error {
		space = s.space()
		return nil
	})
	return space, err
}

// Usage counts the tree below name.
func (s *FS) Usage(ctx context.Context, name pfs.Path) (u pfs.Usage, err error) {
	err = s.on(ctx, s.mu.RLocker(), "memfs.Usage", name, (*FS).findDir, pfs.CanUsage, read, func(n *node) error {
		d := n.dir
		u = pfs.Usage{Bytes: d.sum.bytes, Files: d.sum.files, Dirs: d.sum.dirs, MaxBytes: d.maxBytes, MaxFiles: d.maxFiles}
		return nil
	})
	return u, err
}

// SetQuota limits the tree below name.
func (s *FS) SetQuota(ctx context.Context, name pfs.Path, maxBytes, maxFiles int64) error {
	const op = "memfs.SetQuota"
	return s.on(ctx, &s.mu, op, name, (*FS).findDir, pfs.CanSetQuota, 0, func(n *node) error {
		if s.as {
			return pfs.Errorf(op, name, pfs.Permission, "only the user of the store sets quotas")
		}
		n.dir.maxBytes, n.dir.maxFiles = maxBytes, maxFiles
		return nil
	})
}
