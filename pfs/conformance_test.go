package pfs_test

import (
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// newStore returns a store that has a directory /inner/dir and others.
func newStore(t *testing.T) pfs.FileSystem {
	store := memfs.New(memfs.Options{})
	pfstest.MustMkdir(t, store, "/inner/dir")
	pfstest.MustMkdir(t, store, "/inner/directory")
	pfstest.WriteFile(t, store, "/inner/file", []byte("beside"))
	return store
}

// same returns a view of a store that lives as long as the test.
func same(_ *testing.T, fsys pfs.FileSystem) pfs.FileSystem { return fsys }

func TestConformanceSub(t *testing.T) {
	pfstest.Run(t, pfstest.Options{
		New:    func(t *testing.T) pfs.FileSystem { return pfstest.NewSub(newStore(t), "/inner/dir") },
		Reopen: same,
		Names:  10_000,
	})
}

func TestConformanceMux(t *testing.T) {
	pfstest.Run(t, pfstest.Options{
		New: func(t *testing.T) pfs.FileSystem {
			mux := pfs.NewMux(
				pfs.Mount{At: "/a", FS: memfs.New(memfs.Options{}), Dir: pfs.Root},
				pfs.Mount{At: "/a/b", FS: newStore(t), Dir: "/inner/dir"},
			)
			return pfstest.NewSub(mux, "/a/b")
		},
		Reopen: same,
		Names:  10_000,
	})
}
