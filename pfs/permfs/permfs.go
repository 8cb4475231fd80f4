// Package permfs asks a policy before every operation.
package permfs

import (
	"context"

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
	var l *pfs.Layer
	l = pfs.NewLayerWith(func(_ context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if err := allow(a, name); err != nil {
			return err
		}
		return call(fsys, name)
	}, pfs.Hooks{
		Hide: func(name pfs.Path) bool { return allow(pfs.Lookup, name) != nil },
		// A tree that may be read is summed by the store.
		Apart: func(dir pfs.Path) (apart bool, except string) { return allow(pfs.Read, dir) != nil, "" },
		Paths: func(ctx context.Context, op pfs.PathsOp, call pfs.PathsCall) error {
			// A rename to the same name changes nothing, so it takes no more than to see it.
			if name := op.Target(); op.Name == "Rename" && op.Uses[0].Path == name {
				_, err := l.Stat(ctx, name)
				return err
			}
			return op.Each(ctx, call)
		},
	})
	return l
}
