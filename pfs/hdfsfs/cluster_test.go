package hdfsfs

import (
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestCluster names a cluster by its configuration and by a NameNode, as somebody who may ask for its ID, and from a block.
func TestCluster(t *testing.T) {
	c := testbed.HDFS(t)
	byConf, err := ParseURL("hdfs:///", c.ConfDir)
	must(t, err)
	byHost := Options{NameNodes: c.NameNodes, Root: c.Scratch(t)}
	first := ""
	for _, o := range []Options{byConf, byHost} {
		o.User = c.Superuser
		f := open(t, o)
		pool, err := f.Cluster(t.Context())
		if err != nil || !strings.HasPrefix(pool, "BP-") || first != "" && pool != first {
			t.Errorf("the block pool of %v is %q, %v; before it was %q", o.NameNodes, pool, err, first)
		}
		first = pool
		if o.Root == "/" {
			continue // it is everybody's
		}
		pfstest.WriteFile(t, f, "/f", []byte("content"))
		f = open(t, o)
		f.findBlock(t.Context())
		if got := f.notedBlockPool(); got != first {
			t.Errorf("the block pool of a block is %q, want %q", got, first)
		}
	}
}
