package pfs

import (
	"context"
	"errors"
	"io/fs"
	"time"
)

// Access is what an operation does to a path: what a permission is asked for.
type Access uint8

// The accesses.
const (
	// Lookup describes one path: Stat, Space, Usage.
	Lookup Access = iota
	// Read reads content: Open, Digest, BlockLocations, the source of a copy.
	Read
	// ListDir reads the names in a directory.
	ListDir
	// Write makes or changes content or attributes: Create, Edit, Chmod, Chtime,
	// WriteBatch, the target of a copy, a rename or a link.
	Write
	// Make makes a directory.
	Make
	// Delete removes a name: Remove, RemoveTree, Rename's old name.
	Delete
	// Discard removes what is staged below a directory: Sweep.
	Discard
	// Administer changes what the owner may not: SetQuota.
	Administer
)

// Changes reports whether a is an access that changes anything.
func (a Access) Changes() bool { return a >= Write }

// Through carries one operation on name down to the file system that does it: it
// may refuse, choose the file system and the name there, do call again, or change
// its error.
type Through func(ctx context.Context, a Access, name Path, call func(FileSystem, Path) error) error

// Layer makes a FileSystem of a Through: every operation on a path, those of the
// optional capabilities included, goes through the one function. Decorators, the
// mux and the namespace are Layers; so no decorator can forget an operation.
//
// An operation on two paths passes both and answers CrossStore if they end on
// different file systems. Errors come back with the path that the caller used.
type Layer struct {
	through Through
}

var (
	_ FileSystem       = (*Layer)(nil)
	_ Symlinker        = (*Layer)(nil)
	_ Chmoder          = (*Layer)(nil)
	_ Chtimer          = (*Layer)(nil)
	_ Editor           = (*Layer)(nil)
	_ ExclusiveRenamer = (*Layer)(nil)
	_ TreeRemover      = (*Layer)(nil)
	_ SpaceReporter    = (*Layer)(nil)
	_ UsageReporter    = (*Layer)(nil)
	_ QuotaSetter      = (*Layer)(nil)
	_ Copier           = (*Layer)(nil)
	_ Digester         = (*Layer)(nil)
	_ BatchWriter      = (*Layer)(nil)
	_ Sweeper          = (*Layer)(nil)
	_ BlockLocator     = (*Layer)(nil)
	_ AccessChecker    = (*Layer)(nil)
)

// NewLayer returns the file system whose operations go through t. File systems
// that t passes to call must be comparable with ==.
func NewLayer(t Through) *Layer { return &Layer{through: t} }

// route checks name and carries call through the layer. Errors still have the
// inner paths, which is what t itself must see.
func (l *Layer) route(ctx context.Context, op string, a Access, name Path, call func(FileSystem, Path) error) error {
	if err := CheckPath(op, name); err != nil {
		return err
	}
	if err := CheckContext(ctx, op, name); err != nil {
		return err
	}
	return l.through(ctx, a, name, call)
}

// one carries an operation on one path.
func (l *Layer) one(ctx context.Context, op string, a Access, name Path, call func(FileSystem, Path) error) error {
	inner, below := name, error(nil)
	err := l.route(ctx, op, a, name, func(fsys FileSystem, p Path) error {
		inner, below = p, call(fsys, p)
		return below
	})
	if err != below {
		return err // of the layer itself, in the caller's words
	}
	return renamed(err, inner, name)
}

// two carries an operation on two paths.
func (l *Layer) two(ctx context.Context, op string, a Access, src Path, b Access, dst Path, call func(fsys FileSystem, src, dst Path) error) error {
	s, d, below := src, dst, error(nil)
	err := l.route(ctx, op, a, src, func(sfs FileSystem, sp Path) error {
		s = sp
		return l.route(ctx, op, b, dst, func(dfs FileSystem, dp Path) error {
			d = dp
			if sfs != dfs {
				return Errorf(op, dst, CrossStore, "%s and %s are on different stores", src, dst)
			}
			below = call(sfs, sp, dp)
			return below
		})
	})
	var e *Error
	if err == nil || err != below || !errors.As(err, &e) {
		return err
	}
	if e.Path != s && (d.Within(e.Path) || e.Path.Within(d)) {
		return renamed(err, d, dst)
	}
	return renamed(err, s, src)
}

// renamed gives err the path that the caller used instead of the inner one.
func renamed(err error, inner, outer Path) error {
	var e *Error
	if err == nil || inner == outer || !errors.As(err, &e) || e.Path == "" {
		return err
	}
	// The layer replaced a leading part of the path: drop the common tail.
	from, to := inner, outer
	for from != Root && to != Root && from.Base() == to.Base() {
		from, to = from.Parent(), to.Parent()
	}
	if !e.Path.Within(from) {
		return err
	}
	c := *e
	c.Path = e.Path.Rebase(from, to)
	return &c
}

func (l *Layer) Open(ctx context.Context, name Path) (f File, err error) {
	err = l.one(ctx, "pfs.Open", Read, name, func(fsys FileSystem, p Path) error {
		g, err := fsys.Open(ctx, p)
		if err == nil {
			f = layerFile{g, p, name}
		}
		return err
	})
	return f, err
}

func (l *Layer) Create(ctx context.Context, name Path, opts CreateOptions) (w Staged, err error) {
	err = l.one(ctx, "pfs.Create", Write, name, func(fsys FileSystem, p Path) error {
		s, err := fsys.Create(ctx, p, opts)
		if err == nil {
			w = &layerStaged{s, p, name}
		}
		return err
	})
	return w, err
}

func (l *Layer) Stat(ctx context.Context, name Path) (info Info, err error) {
	err = l.one(ctx, "pfs.Stat", Lookup, name, func(fsys FileSystem, p Path) error {
		info, err = fsys.Stat(ctx, p)
		return err
	})
	if err == nil {
		info.Name = name.Base()
	}
	return info, err
}

func (l *Layer) List(ctx context.Context, dir Path, opts ListOptions) (page Page, err error) {
	err = l.one(ctx, "pfs.List", ListDir, dir, func(fsys FileSystem, p Path) error {
		page, err = fsys.List(ctx, p, opts)
		return err
	})
	return page, err
}

func (l *Layer) Mkdir(ctx context.Context, name Path, mode fs.FileMode) error {
	return l.one(ctx, "pfs.Mkdir", Make, name, func(fsys FileSystem, p Path) error {
		return fsys.Mkdir(ctx, p, mode)
	})
}

func (l *Layer) Remove(ctx context.Context, name Path) error {
	return l.one(ctx, "pfs.Remove", Delete, name, func(fsys FileSystem, p Path) error {
		return fsys.Remove(ctx, p)
	})
}

func (l *Layer) Rename(ctx context.Context, oldName, newName Path) error {
	return l.two(ctx, "pfs.Rename", Delete, oldName, Write, newName, func(fsys FileSystem, o, n Path) error {
		return fsys.Rename(ctx, o, n)
	})
}

func (l *Layer) Symlink(ctx context.Context, target string, name Path) error {
	return l.one(ctx, "pfs.Symlink", Write, name, func(fsys FileSystem, p Path) error {
		return MakeLink(ctx, fsys, target, p)
	})
}

func (l *Layer) Chmod(ctx context.Context, name Path, mode fs.FileMode) error {
	return l.one(ctx, "pfs.Chmod", Write, name, func(fsys FileSystem, p Path) error {
		return Chmod(ctx, fsys, p, mode)
	})
}

func (l *Layer) Chtime(ctx context.Context, name Path, mtime time.Time) error {
	return l.one(ctx, "pfs.Chtime", Write, name, func(fsys FileSystem, p Path) error {
		return Chtime(ctx, fsys, p, mtime)
	})
}

func (l *Layer) Edit(ctx context.Context, name Path) (h Edited, err error) {
	err = l.one(ctx, "pfs.Edit", Write, name, func(fsys FileSystem, p Path) error {
		g, err := Edit(ctx, fsys, p)
		if err == nil {
			h = layerHandle{g, p, name}
		}
		return err
	})
	return h, err
}

func (l *Layer) RenameExclusive(ctx context.Context, oldName, newName Path) error {
	return l.two(ctx, "pfs.RenameExclusive", Delete, oldName, Write, newName, func(fsys FileSystem, o, n Path) error {
		return RenameExclusive(ctx, fsys, o, n)
	})
}

func (l *Layer) RemoveTree(ctx context.Context, name Path) error {
	return l.one(ctx, "pfs.RemoveTree", Delete, name, func(fsys FileSystem, p Path) error {
		// Where the store has no way of its own the caller walks, through this layer.
		c, ok := fsys.(TreeRemover)
		if !ok {
			return E("pfs.RemoveTree", p, Unsupported, nil)
		}
		return c.RemoveTree(ctx, p)
	})
}

func (l *Layer) Space(ctx context.Context, name Path) (s Space, err error) {
	err = l.one(ctx, "pfs.Space", Lookup, name, func(fsys FileSystem, p Path) error {
		s, err = SpaceOf(ctx, fsys, p)
		return err
	})
	return s, err
}

func (l *Layer) Usage(ctx context.Context, name Path) (u Usage, err error) {
	err = l.one(ctx, "pfs.Usage", Lookup, name, func(fsys FileSystem, p Path) error {
		c, ok := fsys.(UsageReporter)
		if !ok {
			return E("pfs.Usage", p, Unsupported, nil)
		}
		u, err = c.Usage(ctx, p)
		return err
	})
	return u, err
}

func (l *Layer) SetQuota(ctx context.Context, name Path, maxBytes, maxFiles int64) error {
	return l.one(ctx, "pfs.SetQuota", Administer, name, func(fsys FileSystem, p Path) error {
		return SetQuota(ctx, fsys, p, maxBytes, maxFiles)
	})
}

func (l *Layer) CopyFile(ctx context.Context, src, dst Path, opts CopyOptions, progress func(int64)) (info Info, err error) {
	err = l.two(ctx, "pfs.CopyFile", Read, src, Write, dst, func(fsys FileSystem, s, d Path) error {
		c, ok := fsys.(Copier)
		if !ok {
			return E("pfs.CopyFile", d, Unsupported, nil)
		}
		info, err = c.CopyFile(ctx, s, d, opts, progress)
		return err
	})
	if err == nil {
		info.Name = dst.Base()
	}
	return info, err
}

func (l *Layer) Digest(ctx context.Context, name Path, algorithm string, progress func(int64)) (d string, err error) {
	err = l.one(ctx, "pfs.Digest", Read, name, func(fsys FileSystem, p Path) error {
		c, ok := fsys.(Digester)
		if !ok {
			return E("pfs.Digest", p, Unsupported, nil)
		}
		d, err = c.Digest(ctx, p, algorithm, progress)
		return err
	})
	return d, err
}

func (l *Layer) Sweep(ctx context.Context, dir Path, age time.Duration) (n int, bytes int64, err error) {
	err = l.one(ctx, "pfs.Sweep", Discard, dir, func(fsys FileSystem, p Path) error {
		n, bytes, err = Sweep(ctx, fsys, p, age)
		return err
	})
	return n, bytes, err
}

func (l *Layer) CheckAccess(ctx context.Context, a Access, name Path) error {
	return l.one(ctx, "pfs.CheckAccess", a, name, func(fsys FileSystem, p Path) error {
		return CheckAccess(ctx, fsys, a, p)
	})
}

func (l *Layer) BlockLocations(ctx context.Context, name Path, off, n int64) (blocks []BlockLocation, err error) {
	err = l.one(ctx, "pfs.BlockLocations", Read, name, func(fsys FileSystem, p Path) error {
		blocks, err = LocateBlocks(ctx, fsys, p, off, n)
		return err
	})
	return blocks, err
}
