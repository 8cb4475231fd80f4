package cachefs

import (
	"path/filepath"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// newCache returns fsys with a cache in a new directory. change may change the options.
func newCache(t testing.TB, fsys pfs.FileSystem, change func(o *Options)) *FS {
	t.Helper()
	o := Options{Dirs: []string{filepath.Join(t.TempDir(), "cache")}, Size: 1 << 30, Reserve: 1, Settle: -1}
	if change != nil {
		change(&o)
	}
	c, err := New(fsys, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestSuiteOverMemory(t *testing.T) {
	pfstest.Run(t, pfstest.Options{Names: 300, New: func(t *testing.T) pfs.FileSystem {
		return newCache(t, memfs.New(memfs.Options{}), nil)
	}})
}

func TestSuiteOverDirectory(t *testing.T) {
	testbed.Long(t)
	pfstest.Run(t, pfstest.Options{Gaps: pfstest.NoBlockLocations | pfstest.NoConcat | pfstest.NoReplication, Names: 300, New: func(t *testing.T) pfs.FileSystem {
		fsys, err := localfs.New(t.TempDir(), localfs.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { fsys.Close() })
		return newCache(t, fsys, nil)
	}})
}
