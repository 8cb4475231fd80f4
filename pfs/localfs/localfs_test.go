package localfs

import (
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func open(t testing.TB, dir string) *FS {
	t.Helper()
	s, err := New(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestConformance(t *testing.T) {
	pfstest.Run(t, pfstest.Options{
		New:    func(t *testing.T) pfs.FileSystem { return open(t, t.TempDir()) },
		Reopen: func(t *testing.T, fsys pfs.FileSystem) pfs.FileSystem { return open(t, fsys.(*FS).root.Name()) },
		Gaps:   pfstest.NoDigester,
	})
}
