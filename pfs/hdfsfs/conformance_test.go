package hdfsfs

import (
	"flag"
	"os"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestMain leaves out what the suite says of names with a ":", which HDFS refuses and
// the suite knows no gap for; TestOddNames is about the others.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.skip"); f.Value.String() == "" {
		must(nil, f.Value.Set("TestConformance/.*/Path/every_legal_name_can_be_that_of_a_(file|directory)"))
	}
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	if err == nil {
		return
	}
	if t == nil {
		panic(err)
	}
	t.Helper()
	t.Fatal(err)
}

// small are blocks and parts of a few chunks, so that files have many of both.
const small = 1 << 20

func options(c *testbed.HDFSCluster, root string) Options {
	return Options{NameNodes: c.NameNodes, WebHDFS: c.WebHDFS, Root: root, User: c.Superuser, BlockSize: small}
}

// open returns a new file system.
func open(t testing.TB, o Options) *FS {
	t.Helper()
	f, err := New(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestConformance(t *testing.T) {
	c := testbed.HDFS(t)
	for _, way := range []struct {
		name   string
		change func(o *Options)
		gaps   pfstest.Gap
		names  int
	}{
		{name: "WebHDFS", names: 3000},
		{name: "without WebHDFS", change: func(o *Options) { o.WebHDFS = nil }, names: 100,
			gaps: pfstest.NoExclusiveRename | pfstest.NoExclusiveCommit | pfstest.NoQuota},
		{name: "parts of several blocks", change: func(o *Options) { o.BlockSize = 64 << 10; o.PartSize = 1 << 20 }, names: 100},
	} {
		t.Run(way.name, func(t *testing.T) {
			if testing.Short() && way.change != nil {
				t.Skip("one way is enough for a short test")
			}
			at := func(t *testing.T, root string) pfs.FileSystem {
				o := options(c, root)
				if way.change != nil {
					way.change(&o)
				}
				return open(t, o)
			}
			pfstest.Run(t, pfstest.Options{
				New:    func(t *testing.T) pfs.FileSystem { return at(t, c.Scratch(t)) },
				Reopen: func(t *testing.T, fsys pfs.FileSystem) pfs.FileSystem { return at(t, fsys.(*FS).opts.Root) },
				Gaps:   way.gaps | pfstest.NoSymlink | pfstest.NoEdit,
				Names:  way.names,
			})
		})
	}
}
