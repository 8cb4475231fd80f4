// Package permfs asks a policy before every operation.
package permfs

import (
	"context"
	"slices"

	"github.com/paddlecloud/pfs/pfs"
)

// Policy answers whether the access a to name is allowed: nil, or the *pfs.Error
// that the caller gets, usually of Kind Permission and the same whether name
// exists or not. It is asked about paths as they are written, is called from many
// goroutines, and must not block.
//
// Read, Write, Delete, Discard and Administer are granted for trees: a policy that allows
// one of them on a directory allows it on everything that is or ever will be below.
// So allowing Delete is enough to let RemoveTree or Rename take a directory
// whole, and a policy must refuse it above whatever it protects. Who may Delete
// may Read, since a rename can carry what it moves to where it can be read.
// Lookup, ListDir and Make are granted one path at a time.
type Policy func(a pfs.Access, name pfs.Path) error

// New returns fsys as allow lets it be seen. No operation reaches fsys before
// allow agreed to each of its paths, and a listing leaves out the entries that
// allow would not let Lookup.
func New(fsys pfs.FileSystem, allow Policy) pfs.FileSystem {
	layer := pfs.NewLayer(func(_ context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if err := allow(a, name); err != nil {
			return err
		}
		return call(fsys, name)
	})
	return &view{layer, allow}
}

// view is a Layer that also hides entries.
type view struct {
	*pfs.Layer
	allow Policy
}

var _ pfs.UsageReporter = (*view)(nil)

// List leaves out what must not be seen, so that a page may hold fewer entries
// than the directory has, or none, and still have a Next.
func (v *view) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	page, err := v.Layer.List(ctx, dir, opts)
	if err != nil {
		return page, err
	}
	page.Entries = without(page.Entries, func(e pfs.Info) bool {
		return v.allow(pfs.Lookup, dir.Join(e.Name)) != nil
	})
	page.Unnamed = without(page.Unnamed, func(quoted string) bool {
		return v.allow(pfs.Lookup, dir.Join(standIn(quoted))) != nil
	})
	return page, nil
}

// standIn makes a legal name of the quoted form of one that is none: a policy can
// only be asked about paths.
func standIn(quoted string) string {
	if pfs.CheckName(quoted) != "" {
		return "?"
	}
	return quoted
}

// without returns s less what hide reports. s itself may belong to a cache below,
// so it is not touched.
func without[E any](s []E, hide func(E) bool) []E {
	if !slices.ContainsFunc(s, hide) {
		return s
	}
	return slices.DeleteFunc(slices.Clone(s), hide)
}

// Rename to the same name changes nothing, so it takes no more than to see it.
func (v *view) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	if oldName != newName {
		return v.Layer.Rename(ctx, oldName, newName)
	}
	_, err := v.Stat(ctx, oldName)
	return err
}

// Usage sums what may be seen. A tree that may be read is summed by the store;
// above such trees the sum is made entry by entry.
func (v *view) Usage(ctx context.Context, dir pfs.Path) (pfs.Usage, error) {
	if v.allow(pfs.Read, dir) == nil {
		return v.Layer.Usage(ctx, dir)
	}
	info, err := v.Stat(ctx, dir)
	if err != nil {
		return pfs.Usage{}, err
	}
	if !info.IsDir() {
		return pfs.Usage{Files: 1, Bytes: info.Size}, nil
	}
	return v.sum(ctx, dir)
}

// sum adds up the visible entries of dir.
func (v *view) sum(ctx context.Context, dir pfs.Path) (total pfs.Usage, err error) {
	for e, err := range pfs.Entries(ctx, v, dir, nil) {
		if err != nil {
			return pfs.Usage{}, err
		}
		if !e.IsDir() {
			total.Files++
			total.Bytes += e.Size
			continue
		}
		below, err := v.Usage(ctx, dir.Join(e.Name))
		if err != nil {
			return pfs.Usage{}, err
		}
		total.Dirs += 1 + below.Dirs
		total.Files += below.Files
		total.Bytes += below.Bytes
	}
	return total, nil
}
