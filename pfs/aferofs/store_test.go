package aferofs_test

import (
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/aferofs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/spf13/afero"
)

// gaps are those of every Store.
const gaps = pfstest.NoCopy | pfstest.NoQuota | pfstest.NoSpaceReport | pfstest.NoKeptDigest | pfstest.NoCommitMemory

// TestStore runs the suite on what afero has, and on a tree that goes through
// afero and back.
func TestStore(t *testing.T) {
	rows := []struct {
		name string
		gaps pfstest.Gap
		opts func(t *testing.T) aferofs.Options
		afs  func(t *testing.T) afero.Fs
		once bool // another instance would not see what was not closed
	}{
		{name: "MemMapFs", gaps: pfstest.NoSymlink,
			afs: func(*testing.T) afero.Fs { return afero.NewMemMapFs() }},
		{name: "BasePathFs of OsFs", gaps: pfstest.NoSymlink,
			afs: func(t *testing.T) afero.Fs { return afero.NewBasePathFs(afero.NewOsFs(), t.TempDir()) }},
		{name: "OsFs",
			opts: func(t *testing.T) aferofs.Options { return aferofs.Options{Root: t.TempDir()} },
			afs:  func(*testing.T) afero.Fs { return afero.NewOsFs() }},
		{name: "FromPFS of memfs", once: true,
			opts: func(*testing.T) aferofs.Options { return aferofs.Options{TempPrefix: ".store-"} },
			afs:  func(t *testing.T) afero.Fs { return aferofs.FromPFS(t.Context(), memfs.New(memfs.Options{})) }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if row.name == "BasePathFs of OsFs" {
				testbed.Long(t) // OsFs is much the same
			}
			t.Parallel()
			again := map[pfs.FileSystem]func() pfs.FileSystem{}
			open := func(t *testing.T) pfs.FileSystem {
				var opts aferofs.Options
				if row.opts != nil {
					opts = row.opts(t)
				}
				afs := row.afs(t)
				fsys := aferofs.Store(afs, opts)
				again[fsys] = func() pfs.FileSystem { return aferofs.Store(afs, opts) }
				return fsys
			}
			opts := pfstest.Options{New: open, Gaps: gaps | row.gaps | pfstest.NoBlockLocations | pfstest.WholeFiles, Names: 300}
			if !row.once {
				opts.Reopen = func(_ *testing.T, fsys pfs.FileSystem) pfs.FileSystem { return again[fsys]() }
			}
			pfstest.Run(t, opts)
		})
	}
}
