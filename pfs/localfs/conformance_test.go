package localfs

import (
	"errors"
	"os"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// noAttributes is a file system without extended attributes.
type noAttributes struct{}

func (noAttributes) get(*os.File, string, []byte) (int, error) { return 0, errors.ErrUnsupported }
func (noAttributes) set(*os.File, string, []byte, pfs.XattrFlags) error {
	return errors.ErrUnsupported
}
func (noAttributes) list(*os.File) ([]string, error) { return nil, errors.ErrUnsupported }
func (noAttributes) remove(*os.File, string) error   { return errors.ErrUnsupported }

// way is one implementation of access to the files.
type way struct {
	name  string
	opts  Options
	open  func(path string, follow bool) (dir, error)
	attrs attributes // nil for the system's
	gaps  pfstest.Gap
	names int
}

// TestConformance runs the suite on each way. All but the first omit the syncs, which take most of
// the time.
func TestConformance(t *testing.T) {
	for _, w := range append([]way{
		{name: "durable", open: openTop, names: 2000},
		{name: "os.Root", opts: Options{NoSync: true}, open: openRoot, gaps: pfstest.NoMknod, names: 2000},
		{name: "without extended attributes", opts: Options{NoSync: true}, open: openTop, attrs: noAttributes{},
			gaps: pfstest.NoKeptDigest | pfstest.NoCommitMemory | pfstest.NoXattr, names: 2000},
	}, systemWays...) {
		t.Run(w.name, func(t *testing.T) { // in sequence: the suite measures memory
			if w.name != "durable" {
				testbed.Long(t)
			}
			w.run(t)
		})
	}
}

func (w way) run(t *testing.T) {
	dirs := map[pfs.FileSystem]string{}
	at := func(t *testing.T, dir string) pfs.FileSystem {
		f, err := newFS(dir, w.opts, w.open)
		must(t, err)
		if w.attrs != nil {
			f.attrs = w.attrs
		}
		t.Cleanup(func() { f.Close() })
		dirs[f] = dir
		return f
	}
	pfstest.Run(t, pfstest.Options{
		New:    func(t *testing.T) pfs.FileSystem { return at(t, t.TempDir()) },
		Reopen: func(t *testing.T, fsys pfs.FileSystem) pfs.FileSystem { return at(t, dirs[fsys]) },
		Gaps:   w.gaps | pfstest.NoBlockLocations | pfstest.NoConcat | pfstest.NoReplication,
		Names:  w.names,
	})
}
