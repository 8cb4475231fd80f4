// Package rofs makes a tree that can be looked at and not changed.
package rofs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// New returns fsys without its changes: every operation that would change
// anything answers ReadOnly, whether its path exists or not, and never reaches
// fsys. Reading goes through as it is.
func New(fsys pfs.FileSystem) pfs.FileSystem {
	return pfs.NewLayer(func(_ context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if a.Changes() {
			return pfs.E("rofs.New", name, pfs.ReadOnly, nil)
		}
		return call(fsys, name)
	})
}
