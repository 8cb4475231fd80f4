package hdfsfs

import (
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// A name space is called the same by its configuration and by a NameNode of it.
func TestCluster(t *testing.T) {
	c := testbed.HDFS(t)
	byConf, err := ParseURL("hdfs:///", c.ConfDir)
	if err != nil {
		t.Fatal(err)
	}
	byHost := Options{NameNodes: c.NameNodes, WebHDFS: c.WebHDFS, Root: "/"}
	for _, o := range []Options{byConf, byHost} {
		o.User = c.Superuser
		f, err := New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		if pool, err := f.Cluster(t.Context()); err != nil || !strings.HasPrefix(pool, "BP-") {
			t.Errorf("the block pool of %v is %q, %v", o.NameNodes, pool, err)
		}
	}
}
