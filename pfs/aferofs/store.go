package aferofs

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/spf13/afero"
)

// Options says how to use an afero.Fs. The zero value is right for most.
type Options struct {
	// Root is the directory of the afero.Fs that is the root of the tree; empty
	// means its own root. It must exist.
	Root string

	// TempPrefix takes the place of pfs.TempPrefix in the names of temporaries, which
	// are then reserved as well. Empty means pfs.TempPrefix; another one is needed
	// where the afero.Fs reserves those names for itself, as one made by FromPFS does.
	TempPrefix string
}

// Store returns the tree that afs holds. There must be one Store for one afs, and
// nothing else that changes it; see the package documentation.
//
// Besides the core it makes links if afs keeps their targets as they are written
// (afero.OsFs does, afero.BasePathFs does not: use Root), sets permission bits
// and times, renames without replacing, computes digests and sweeps. It knows no quota and no size of
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

	generations generations
	listings    listings
}

var (
	_ pfs.FileSystem       = (*store)(nil)
	_ pfs.Symlinker        = (*store)(nil)
	_ pfs.AttrSetter       = (*store)(nil)
	_ pfs.ExclusiveRenamer = (*store)(nil)
	_ pfs.Digester         = (*store)(nil)
	_ pfs.Sweeper          = (*store)(nil)
)

// begin is what every operation does first.
func (s *store) begin(ctx context.Context, op string, name pfs.Path) error {
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	for elem := range name.Names() {
		if reason := s.checkName(elem); reason != "" {
			return pfs.Errorf(op, "", pfs.Invalid, "path %q: %s", string(name), reason)
		}
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

// checkName is pfs.CheckName that knows the names of this store's temporaries.
func (s *store) checkName(name string) string {
	if reason := pfs.CheckName(s.plain(name)); reason != "" {
		return reason
	}
	return pfs.CheckName(name)
}

// isTemp reports whether an entry is a temporary, of this store or of another that used
// the same directories. Links have the name of a staged write until they have their own.
func (s *store) isTemp(name string, info fs.FileInfo) bool {
	if info.IsDir() {
		return false
	}
	return pfs.IsTemp(s.plain(name), 0) || pfs.IsTemp(name, 0)
}

// plain writes the name of a temporary of this store with pfs.TempPrefix.
func (s *store) plain(name string) string {
	if rest, ok := strings.CutPrefix(name, s.prefix); ok {
		return pfs.TempPrefix + rest
	}
	return name
}

// temp returns the name in afs of the temporary for the staged write id of name.
func (s *store) temp(name pfs.Path, id string) string {
	rest := strings.TrimPrefix(digest.StagedName(name.Base(), id), pfs.TempPrefix)
	return s.real(name.Parent().Join(s.prefix + rest))
}
