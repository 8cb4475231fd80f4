package aferofs

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
)

// Store returns the tree that afs holds. An afero.BasePathFs makes a directory the root,
// which must exist. There must be one Store for one afs, and nothing else that changes it;
// see the package documentation.
//
// Besides the core it renames without replacing and sets permission bits and times.
func Store(afs afero.Fs) pfs.FileSystem { return &store{afs: afs, uploads: map[string]*upload{}} }

// store is a tree on an afero.Fs.
type store struct {
	afs afero.Fs

	// mu is held for reading while a name is looked up and opened, and for writing
	// while names change. An upload's own lock is taken before it.
	mu      sync.RWMutex
	uploads map[string]*upload // with open handles, by the name of the temporary
}

var (
	_ pfs.FileSystem         = (*store)(nil)
	_ pfs.CapabilityReporter = (*store)(nil)
	_ pfs.AttrSetter         = (*store)(nil)
	_ pfs.ExclusiveRenamer   = (*store)(nil)
)

// Capabilities returns the operations of every Store.
func (s *store) Capabilities(ctx context.Context, name pfs.Path) (pfs.Capabilities, error) {
	return pfs.CanRename | pfs.CanRenameDir | pfs.CanRenameNew | pfs.CanKeepEmptyDir | pfs.CanReadStaged |
		pfs.CanSetMode | pfs.CanSetTimes, begin(ctx, "aferofs.Capabilities", name)
}

// begin is the start of every operation.
func begin(ctx context.Context, op string, name pfs.Path) error {
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	return pfs.CheckContext(ctx, op, name)
}

// nameOf returns the name that afs has for name.
func nameOf(name pfs.Path) string { return filepath.FromSlash(string(name)) }
