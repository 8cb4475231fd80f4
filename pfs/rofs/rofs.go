// Package rofs makes a tree read-only.
package rofs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// New returns fsys without its changes: every operation that would change something answers
// ReadOnly and never reaches fsys, whether its path exists or not. Other operations pass
// unchanged.
func New(fsys pfs.FileSystem) pfs.FileSystem {
	return pfs.NewLayer(func(_ context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if a.Changes() {
			return pfs.E("rofs.New", name, pfs.ReadOnly, nil)
		}
		return call(fsys, name)
	})
}
