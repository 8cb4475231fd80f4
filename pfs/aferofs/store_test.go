package aferofs_test

import (
	"context"
	"errors"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/aferofs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/spf13/afero"
)

// gaps are the gaps of every Store.
const gaps = pfstest.WholeFiles&^pfstest.NoCapabilities | pfstest.NoSymlink | pfstest.NoCopy | pfstest.NoQuota |
	pfstest.NoSpaceReport | pfstest.NoBlockLocations | pfstest.NoSweep | pfstest.NoDigester | pfstest.NoLeafDigests |
	pfstest.NoKeptDigest | pfstest.NoCommitMemory | pfstest.WeakVersion

// TestStore runs the suite on file systems of afero, and on a tree that is converted to afero and
// back.
func TestStore(t *testing.T) {
	rows := []struct {
		name string
		afs  func(t *testing.T) afero.Fs
	}{
		{"MemMapFs", func(*testing.T) afero.Fs { return afero.NewMemMapFs() }},
		{"OsFs", func(t *testing.T) afero.Fs { return afero.NewBasePathFs(afero.NewOsFs(), t.TempDir()) }},
		{"FromPFS of memfs", func(t *testing.T) afero.Fs {
			return unreserved{aferofs.FromPFS(t.Context(), memfs.New(memfs.Options{}))}
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if row.name == "OsFs" {
				testbed.Long(t) // TestStoreFollowsNoLink runs most of it
			}
			t.Parallel()
			again := map[pfs.FileSystem]afero.Fs{}
			pfstest.Run(t, pfstest.Options{
				New: func(t *testing.T) pfs.FileSystem {
					afs := row.afs(t)
					fsys := aferofs.Store(afs)
					again[fsys] = afs
					return fsys
				},
				Reopen: func(_ *testing.T, fsys pfs.FileSystem) pfs.FileSystem { return aferofs.Store(again[fsys]) },
				Gaps:   gaps,
				Names:  300,
			})
		})
	}
}

// TestStoreFollowsNoLink runs the suite on a directory in which the tests make links.
func TestStoreFollowsNoLink(t *testing.T) {
	t.Parallel()
	pfstest.Run(t, pfstest.Options{
		New: func(t *testing.T) pfs.FileSystem {
			dir := t.TempDir()
			return linking{aferofs.Store(afero.NewBasePathFs(afero.NewOsFs(), dir)), dir}
		},
		Gaps:  gaps&^pfstest.NoSymlink | pfstest.NoCapabilities | pfstest.NoChmod | pfstest.NoChtime | pfstest.NoExclusiveRename,
		Names: 300,
	})
}

// linking is a store below dir that makes links.
type linking struct {
	pfs.FileSystem
	dir string
}

func (l linking) Symlink(ctx context.Context, target string, name pfs.Path) error {
	const op = "linking.Symlink"
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	if err := pfs.CheckContext(ctx, op, name); err != nil {
		return err
	}
	if _, err := l.Stat(ctx, name); err == nil {
		return pfs.E(op, name, pfs.Exist, nil)
	} else if !errors.Is(err, pfs.NotExist) {
		return err
	}
	if _, err := l.Stat(ctx, name.Parent()); err != nil {
		return err
	}
	return os.Symlink(target, l.dir+string(name))
}

// unreserved gives the temporaries of a Store names that FromPFS does not refuse.
type unreserved struct{ afero.Fs }

const up = ".up-"

func plain(name string) string {
	if dir, base := path.Split(name); pfs.ReservedName(base) {
		return dir + strings.Replace(base, pfs.StagedPrefix, up, 1)
	}
	return name
}

func (u unreserved) Open(name string) (afero.File, error) {
	f, err := u.Fs.Open(plain(name))
	if err != nil {
		return nil, err
	}
	return reserved{f}, nil
}

func (u unreserved) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	return u.Fs.OpenFile(plain(name), flag, perm)
}

func (u unreserved) LstatIfPossible(name string) (os.FileInfo, bool, error) {
	return u.Fs.(afero.Lstater).LstatIfPossible(plain(name))
}

func (u unreserved) Chtimes(name string, atime, mtime time.Time) error {
	return u.Fs.Chtimes(plain(name), atime, mtime)
}

func (u unreserved) Chmod(name string, mode os.FileMode) error { return u.Fs.Chmod(plain(name), mode) }
func (u unreserved) Rename(from, to string) error              { return u.Fs.Rename(plain(from), to) }
func (u unreserved) Remove(name string) error                  { return u.Fs.Remove(plain(name)) }

// reserved lists the names back.
type reserved struct{ afero.File }

func (r reserved) Readdirnames(n int) ([]string, error) {
	names, err := r.File.Readdirnames(n)
	for i, name := range names {
		if temp := strings.Replace(name, up, pfs.StagedPrefix, 1); pfs.ReservedName(temp) {
			names[i] = temp
		}
	}
	return names, err
}
