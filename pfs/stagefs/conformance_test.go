package stagefs

import (
	"path/filepath"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// newFS returns fsys with random writes, and staged files in dir.
func newFS(t testing.TB, fsys pfs.FileSystem, o Options) *FS {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "staging")
	}
	f, err := New(fsys, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// newStore returns a store that only appends.
func newStore() *memfs.FS { return memfs.New(memfs.Options{Without: pfs.CanWriteRandom}) }

func TestConformance(t *testing.T) {
	pfstest.Run(t, pfstest.Options{
		New:   func(t *testing.T) pfs.FileSystem { return newFS(t, newStore(), Options{}) },
		Gaps:  pfstest.NoHardLink | pfstest.NoAllocate | pfstest.LateWrites,
		Names: 300,
	})
}

// TestConformanceWithoutStaging: a store with random writes is used as it is.
func TestConformanceWithoutStaging(t *testing.T) {
	testbed.Long(t)
	pfstest.Run(t, pfstest.Options{New: func(t *testing.T) pfs.FileSystem { return newFS(t, memfs.New(memfs.Options{}), Options{}) }, Names: 300})
}
