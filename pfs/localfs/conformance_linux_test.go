package localfs

import (
	"os"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"golang.org/x/sys/unix"
)

// noAttributes is a file system without extended attributes.
type noAttributes struct{}

func (noAttributes) get(*os.File, string, []byte) (int, error) { return 0, unix.ENOTSUP }
func (noAttributes) set(*os.File, string, []byte) error        { return unix.ENOTSUP }
func (noAttributes) remove(*os.File, string) error             { return unix.ENOTSUP }

// openByElements opens a tree as where openat2 is missing.
func openByElements(path string, follow bool) (dir, error) {
	d, err := openTop(path, follow)
	if err == nil {
		d.(*fdDir).elements = true
	}
	return d, err
}

// TestConformance runs the suite on each way of this package to its files. All but
// the first leave out the syncs, which take most of the time.
func TestConformance(t *testing.T) {
	for _, row := range []struct {
		name  string
		opts  Options
		open  func(path string, follow bool) (dir, error)
		attrs attributes
		gaps  pfstest.Gap
		names int
	}{
		{name: "durable", open: openTop, names: 5000},
		{name: "not durable", opts: Options{NoSync: true}, open: openTop},
		{name: "without openat2", opts: Options{NoSync: true}, open: openByElements, names: 5000},
		{name: "os.Root", opts: Options{NoSync: true}, open: openRoot, names: 20_000},
		{name: "without extended attributes", opts: Options{NoSync: true}, open: openTop, attrs: noAttributes{},
			gaps: pfstest.NoKeptDigest | pfstest.NoCommitMemory, names: 5000},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dirs := map[pfs.FileSystem]string{}
			at := func(t *testing.T, dir string) pfs.FileSystem {
				f, err := newFS(dir, row.opts, row.open)
				if err != nil {
					t.Fatal(err)
				}
				if row.attrs != nil {
					f.attrs = row.attrs
				}
				t.Cleanup(func() { f.Close() })
				dirs[f] = dir
				return f
			}
			pfstest.Run(t, pfstest.Options{
				New:    func(t *testing.T) pfs.FileSystem { return at(t, t.TempDir()) },
				Reopen: func(t *testing.T, fsys pfs.FileSystem) pfs.FileSystem { return at(t, dirs[fsys]) },
				Gaps:   row.gaps,
				Names:  row.names,
			})
		})
	}
}
