package stagefs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// replacing runs an operation that removes or replaces the files names. Their handles stay usable.
func (f *FS) replacing(ctx context.Context, op string, do func() error, names ...pfs.Path) error {
	for _, name := range names {
		if err := pfs.CheckPath(op, name); err != nil {
			return err
		}
	}
	return f.with(ctx, op, func(files []*file) error {
		for _, fl := range files {
			defer fl.keep(ctx)()
		}
		if err := do(); err != nil {
			return err
		}
		for _, fl := range files {
			f.forget(fl)
		}
		return nil
	}, names...)
}

func (f *FS) Remove(ctx context.Context, name pfs.Path) error {
	return f.replacing(ctx, "stagefs.Remove", func() error { return f.Layer.Remove(ctx, name) }, name)
}

// RemoveTree answers Unsupported if a file of the tree is in use: the caller removes one name at a
// time then.
func (f *FS) RemoveTree(ctx context.Context, name pfs.Path) error {
	f.mu.Lock()
	used := f.files[name] != nil
	for other := range f.files {
		used = used || below(other, name)
	}
	f.mu.Unlock()
	if used {
		return pfs.E("stagefs.RemoveTree", name, pfs.Unsupported, nil)
	}
	return f.Layer.RemoveTree(ctx, name)
}

func (f *FS) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	return f.move(ctx, "stagefs.Rename", oldName, newName, f.Layer.Rename)
}

func (f *FS) RenameExclusive(ctx context.Context, oldName, newName pfs.Path) error {
	return f.move(ctx, "stagefs.RenameExclusive", oldName, newName, f.Layer.RenameExclusive)
}

// move renames a file or a directory.
func (f *FS) move(ctx context.Context, op string, oldName, newName pfs.Path, rename func(ctx context.Context, oldName, newName pfs.Path) error) error {
	if oldName == newName || pfs.CheckPath(op, oldName) != nil || pfs.CheckPath(op, newName) != nil {
		return rename(ctx, oldName, newName)
	}
	return f.with(ctx, op, func(files []*file) error {
		old, replaced := files[0], files[1]
		defer replaced.keep(ctx)()
		inside := func() []*file {
			f.mu.Lock()
			defer f.mu.Unlock()
			moving := []*file{old}
			for name, fl := range f.files {
				if below(name, oldName) {
					moving = append(moving, fl)
				}
			}
			return moving
		}
		for _, fl := range inside() {
			if name := f.nameOf(fl); name != "" {
				fl.eachRecord(func(s *stage) { s.moving(name.Rebase(oldName, newName)) })
			}
		}
		if err := rename(ctx, oldName, newName); err != nil {
			for _, fl := range inside() {
				fl.eachRecord(func(s *stage) { s.moving("") })
			}
			return err
		}
		f.forget(replaced)
		moved := inside()
		f.mu.Lock()
		for _, fl := range moved {
			delete(f.files, fl.name)
			fl.name = fl.name.Rebase(oldName, newName)
			f.files[fl.name] = fl
		}
		f.mu.Unlock()
		for _, fl := range moved {
			if name := f.nameOf(fl); name != "" {
				fl.eachRecord(func(s *stage) { s.moved(name, "") })
			}
		}
		return nil
	}, oldName, newName)
}

func (f *FS) CopyFile(ctx context.Context, src, dst pfs.Path, opts pfs.CopyOptions, progress func(int64)) (info pfs.Info, err error) {
	if err := f.settle(ctx, src); err != nil { // the Layer would wait for dst if they are equal
		return pfs.Info{}, err
	}
	err = f.replacing(ctx, "stagefs.CopyFile", func() error {
		info, err = pfs.CopyInside(ctx, f.below, src, dst, opts, progress)
		return err
	}, dst)
	return info, err
}

func (f *FS) Concat(ctx context.Context, target pfs.Path, sources []pfs.Path) error {
	names := append(sources[:len(sources):len(sources)], target)
	for _, name := range names {
		if err := f.settle(ctx, name); err != nil {
			return err
		}
	}
	return f.replacing(ctx, "stagefs.Concat", func() error { return pfs.Concat(ctx, f.below, target, sources) }, names...)
}

func (f *FS) WriteBatch(ctx context.Context, entries []pfs.BatchEntry) []error {
	for _, e := range entries {
		if f.lookup(e.Path) == nil {
			continue
		}
		errs := make([]error, len(entries)) // one by one: a file is in use
		for i, e := range entries {
			errs[i] = f.replacing(ctx, "stagefs.WriteBatch", func() error { return f.Layer.WriteBatch(ctx, []pfs.BatchEntry{e})[0] }, e.Path)
		}
		return errs
	}
	return f.Layer.WriteBatch(ctx, entries)
}

func (f *FS) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := f.Layer.Create(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	return &upload{w, f, name}, nil
}

// upload is an upload of a user. Its Commit replaces a file.
type upload struct {
	pfs.Staged
	fs   *FS
	name pfs.Path
}

var (
	_ pfs.LeafDigester = (*upload)(nil)
	_ pfs.Identifier   = (*upload)(nil)
)

func (w *upload) Identity() any { return pfs.IdentityOf(w.Staged) }

func (w *upload) LeafDigests(ctx context.Context, size, first int64, n int) ([]pfs.LeafDigest, error) {
	return w.Staged.(pfs.LeafDigester).LeafDigests(ctx, size, first, n) // of the Layer
}

func (w *upload) Commit(ctx context.Context, opts pfs.CommitOptions) (info pfs.Info, err error) {
	err = w.fs.replacing(ctx, "stagefs.Commit", func() error {
		info, err = w.Staged.Commit(ctx, opts)
		return err
	}, w.name)
	return info, err
}
