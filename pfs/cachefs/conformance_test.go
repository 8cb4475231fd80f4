package cachefs_test

import (
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/cachefs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// cache returns fsys with a cache in a new directory.
func cache(t testing.TB, fsys pfs.FileSystem) pfs.FileSystem {
	t.Helper()
	c, err := cachefs.New(fsys, cachefs.Options{Dirs: []string{t.TempDir()}, Settle: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestSuiteOverMemory(t *testing.T) {
	pfstest.Run(t, pfstest.Options{Names: 300, New: func(t *testing.T) pfs.FileSystem {
		return cache(t, memfs.New(memfs.Options{}))
	}})
}

func TestSuiteOverDirectory(t *testing.T) {
	pfstest.Run(t, pfstest.Options{Gaps: pfstest.NoBlockLocations | pfstest.NoConcat | pfstest.NoReplication, Names: 300, New: func(t *testing.T) pfs.FileSystem {
		fsys, err := localfs.New(t.TempDir(), localfs.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { fsys.Close() })
		return cache(t, fsys)
	}})
}
