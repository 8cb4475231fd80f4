package aferofs

import (
	"context"
	"path/filepath"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
)

// Options says how to use an afero.Fs. The zero value is right for most.
type Options struct {
	// Root is the directory of the afero.Fs that is the root of the tree; empty
	// means its own root. It must exist.
	Root string

	// TempPrefix begins the names of temporaries, which are hidden, and which
	// nothing else may have. Empty means pfs.TempPrefix; another one is needed
	// where the afero.Fs reserves that for itself, as one made by FromPFS does.
	TempPrefix string
}

// Store returns the tree that afs holds. There must be one Store for one afs, and
// nothing else that changes it; see the package documentation.
//
// Besides the core it makes links if afs keeps their targets as they are written
// (afero.OsFs does, afero.BasePathFs does not: use Root), edits in place, renames
// without replacing, computes digests and sweeps. It knows no quota and no size of
// the store.
func Store(afs afero.Fs, opts Options) pfs.FileSystem {
	prefix := opts.TempPrefix
	if prefix == "" {
		prefix = pfs.TempPrefix
	}
	return &store{
		afs:     afs,
		root:    strings.TrimSuffix(filepath.ToSlash(opts.Root), "/"),
		prefix:  prefix,
		uploads: map[string]*upload{},
		edits:   map[*handle]struct{}{},
	}
}

// store is a tree on an afero.Fs.
type store struct {
	afs    afero.Fs
	root   string
	prefix string

	// mu is held for reading while a name is looked up and opened, and for
	// writing while names change. It guards the maps and what they say of their
	// values. An upload's own lock is taken before it.
	mu      sync.RWMutex
	uploads map[string]*upload // in use, by the name of the temporary
	edits   map[*handle]struct{}

	generations generations
	listings    listings
}

var (
	_ pfs.FileSystem       = (*store)(nil)
	_ pfs.Symlinker        = (*store)(nil)
	_ pfs.Chmoder          = (*store)(nil)
	_ pfs.Chtimer          = (*store)(nil)
	_ pfs.Editor           = (*store)(nil)
	_ pfs.ExclusiveRenamer = (*store)(nil)
	_ pfs.Digester         = (*store)(nil)
	_ pfs.Sweeper          = (*store)(nil)
)

// begin is what every operation does first.
func (s *store) begin(ctx context.Context, op string, name pfs.Path) error {
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	if s.prefix != pfs.TempPrefix && strings.Contains(string(name), "/"+s.prefix) {
		return pfs.Errorf(op, "", pfs.Invalid, "path %q: names that begin with %q are reserved", string(name), s.prefix)
	}
	return pfs.CheckContext(ctx, op, name)
}

// real returns the name that afs has for name.
func (s *store) real(name pfs.Path) string {
	if name == pfs.Root && s.root != "" {
		return filepath.FromSlash(s.root)
	}
	return filepath.FromSlash(s.root + string(name))
}

// isTemp reports whether an entry of that name is a temporary, of this store or of
// another that used the same directories.
func (s *store) isTemp(name string) bool {
	return strings.HasPrefix(name, s.prefix) || pfs.IsTemp(name)
}
