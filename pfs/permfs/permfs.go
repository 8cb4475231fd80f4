// Package permfs checks a policy before every operation.
package permfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// Policy returns nil if the access a to name is allowed, and else the *pfs.Error for the caller.
// The error is usually of Kind Permission, and the same whether name exists or not. A Policy gets
// paths as they are written, is called from many goroutines, and must not block.
//
// Read, Write, Delete, Discard and Administer are granted for trees: a policy that allows one of
// them on a directory allows it on everything that is or ever will be below. RemoveTree and Rename
// of a directory only check Delete on the directory, so a policy must refuse Delete above whatever
// it protects. Who may Delete may Read, since a rename can move a file to where it can be read.
// Lookup, ListDir and Make are granted one path at a time.
type Policy func(a pfs.Access, name pfs.Path) error

// New returns fsys restricted by allow. An operation reaches fsys only if allow permits each of
// its paths. Listings leave out the entries for which allow refuses Lookup.
func New(fsys pfs.FileSystem, allow Policy) pfs.FileSystem {
	var l *pfs.Layer
	l = pfs.NewLayerWith(func(_ context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if err := allow(a, name); err != nil {
			return err
		}
		return call(fsys, name)
	}, pfs.Hooks{
		Hide: func(name pfs.Path) bool { return allow(pfs.Lookup, name) != nil },
		// The store measures trees that may be read.
		Apart: func(dir pfs.Path) (apart bool, except string) { return allow(pfs.Read, dir) != nil, "" },
		Paths: func(ctx context.Context, op pfs.PathsOp, call pfs.PathsCall) error {
			// A rename to the same name changes nothing, so it only needs Lookup.
			if name := op.Target(); op.Name == "Rename" && op.Uses[0].Path == name {
				_, err := l.Stat(ctx, name)
				return err
			}
			return op.Each(ctx, call)
		},
	})
	return l
}
