package pfs

import (
	"context"
	"errors"
	"io/fs"
	"iter"
)

// Exists reports whether name exists. It returns any error other than NotExist: an unreachable
// store does not mean "no".
func Exists(ctx context.Context, fsys FileSystem, name Path) (bool, error) {
	_, err := fsys.Stat(ctx, name)
	if errors.Is(err, NotExist) {
		return false, nil
	}
	return err == nil, err
}

// Entries yields the entries of dir page by page, in the store's order. An error ends the
// sequence. Names that cannot be in a Path are passed to unnamed, which may be nil.
func Entries(ctx context.Context, fsys FileSystem, dir Path, unnamed func(quoted string)) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for token := ""; ; {
			page, err := fsys.List(ctx, dir, ListOptions{Token: token})
			if err != nil {
				yield(Info{}, err)
				return
			}
			for _, name := range page.Unnamed {
				if unnamed != nil {
					unnamed(name)
				}
			}
			for _, e := range page.Entries {
				if !yield(e, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			token = page.Next
		}
	}
}

// WalkFunc is called by Walk for each path. If err is nil, info describes it. Otherwise Stat of
// name failed, or its listing if info.IsDir; return nil to continue without it. fs.SkipDir and
// fs.SkipAll mean what they mean in package io/fs.
type WalkFunc func(name Path, info Info, err error) error

// Walk calls fn for root and everything below it, a directory before its entries, in the store's
// order. It visits links and does not follow them. It needs memory for one page a level. A name
// that cannot be in a Path is reported as an Invalid error of its directory.
func Walk(ctx context.Context, fsys FileSystem, root Path, fn WalkFunc) error {
	info, err := fsys.Stat(ctx, root)
	if err != nil {
		err = fn(root, Info{Name: root.Base()}, err)
	} else {
		err = walk(ctx, fsys, root, info, fn)
	}
	if err == fs.SkipDir || err == fs.SkipAll {
		return nil
	}
	return err
}

func walk(ctx context.Context, fsys FileSystem, name Path, info Info, fn WalkFunc) error {
	if err := fn(name, info, nil); err != nil || !info.IsDir() {
		if err == fs.SkipDir && info.IsDir() {
			return nil
		}
		return err
	}
	for token := ""; ; {
		page, err := fsys.List(ctx, name, ListOptions{Token: token})
		if err != nil {
			if err = fn(name, info, err); err == fs.SkipDir {
				return nil
			}
			return err
		}
		for _, quoted := range page.Unnamed {
			err := fn(name, info, Errorf("pfs.Walk", name, Invalid, "entry %s cannot be named here", quoted))
			if err == fs.SkipDir {
				return nil
			}
			if err != nil {
				return err
			}
		}
		for _, e := range page.Entries {
			err := walk(ctx, fsys, name.Join(e.Name), e, fn)
			if err == fs.SkipDir {
				return nil // of a file: the rest of its directory
			}
			if err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		token = page.Next
	}
}

// MkdirAll makes the directory name and the missing parents.
func MkdirAll(ctx context.Context, fsys FileSystem, name Path, mode fs.FileMode) error {
	err := fsys.Mkdir(ctx, name, mode)
	if !errors.Is(err, NotExist) || name == Root {
		return err
	}
	if err := MkdirAll(ctx, fsys, name.Parent(), mode); err != nil {
		return err
	}
	return fsys.Mkdir(ctx, name, mode)
}

// RemoveTree removes name and all below it, with the store's TreeRemover if it has one. A
// missing name answers NotExist.
func RemoveTree(ctx context.Context, fsys FileSystem, name Path) error {
	if c, ok := fsys.(TreeRemover); ok {
		if err := c.RemoveTree(ctx, name); !errors.Is(err, Unsupported) {
			return err
		}
	}
	info, err := fsys.Stat(ctx, name)
	if err != nil {
		return err
	}
	return removeTree(ctx, fsys, name, info)
}

func removeTree(ctx context.Context, fsys FileSystem, name Path, info Info) error {
	if !info.IsDir() {
		return fsys.Remove(ctx, name)
	}
	// After a removal the first page is listed again, because it then holds other entries.
	for token, emptied := "", false; ; {
		page, err := fsys.List(ctx, name, ListOptions{Token: token})
		if emptied && errors.Is(err, NotExist) {
			return nil // the store keeps no empty directories
		}
		if err != nil {
			return err
		}
		removed := 0
		for _, e := range page.Entries {
			err := removeTree(ctx, fsys, name.Join(e.Name), e)
			if err == nil {
				removed++
			} else if !errors.Is(err, NotExist) {
				return err
			}
		}
		switch {
		case removed > 0:
			token, emptied = "", true
		case page.Next != "":
			token = page.Next
		default:
			err := fsys.Remove(ctx, name)
			if len(page.Entries) > 0 && errors.Is(err, NotEmpty) {
				// Otherwise another user has just removed the listed entries.
				return Errorf("pfs.RemoveTree", name, NotEmpty, "%s is listed but cannot be removed", name.Join(page.Entries[0].Name))
			}
			return err
		}
	}
}

// UsageOf counts the tree below name, with the store's UsageReporter if it has one, else by
// walking.
func UsageOf(ctx context.Context, fsys FileSystem, name Path) (Usage, error) {
	if c, ok := fsys.(UsageReporter); ok {
		if u, err := c.Usage(ctx, name); !errors.Is(err, Unsupported) {
			return u, err
		}
	}
	var u Usage
	err := Walk(ctx, fsys, name, func(p Path, info Info, err error) error {
		switch {
		case errors.Is(err, Invalid) && info.IsDir():
			return nil // an entry without a usable name does not end the walk
		case err != nil:
			return err
		case p == name && info.IsDir():
		case info.IsDir():
			u.Dirs++
		default:
			u.Files++
			u.Bytes += info.Size
		}
		return nil
	})
	return u, err
}
