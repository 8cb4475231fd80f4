package stagefs

import (
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestConformanceOverHDFS runs the themes that staging changes.
func TestConformanceOverHDFS(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFS(t)
	pfstest.Run(t, pfstest.Options{
		New: func(t *testing.T) pfs.FileSystem {
			store, err := hdfsfs.New(t.Context(), hdfsfs.Options{
				NameNodes: c.NameNodes, Root: c.Scratch(t), User: c.Superuser, BlockSize: 1 << 20,
			})
			must(t, err)
			t.Cleanup(func() { store.Close() })
			return newFS(t, store, Options{})
		},
		Gaps:  pfstest.NoSymlink | pfstest.NoHardLink | pfstest.NoMknod | pfstest.NoAllocate | pfstest.NoCopy | pfstest.NoColon | pfstest.LateWrites,
		Names: 300, Parallel: true, Times: time.Millisecond,
	})
}
