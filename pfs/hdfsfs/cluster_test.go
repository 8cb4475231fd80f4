package hdfsfs

import (
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// A name space is called the same by its configuration and by a NameNode of it, with and
// without a web server.
func TestCluster(t *testing.T) {
	c := testbed.HDFS(t)
	byConf, err := ParseURL("hdfs:///", c.ConfDir)
	if err != nil {
		t.Fatal(err)
	}
	byHost := Options{NameNodes: c.NameNodes, WebHDFS: c.WebHDFS, Root: "/"}
	byRPC := Options{NameNodes: c.NameNodes, Root: c.Scratch(t)}
	first := ""
	for _, o := range []Options{byConf, byHost, byRPC} {
		o.User = c.Superuser
		f, err := New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		if o.WebHDFS == nil {
			pfstest.WriteFile(t, f, "/f", []byte("content"))
			f = open(t, o)
		}
		pool, err := f.Cluster(t.Context())
		if err != nil || !strings.HasPrefix(pool, "BP-") || first != "" && pool != first {
			t.Errorf("the block pool of %v with WebHDFS at %q is %q, %v; before it was %q", o.NameNodes, o.WebHDFS, pool, err, first)
		}
		first = pool
		if o.WebHDFS != nil {
			continue // its root is everybody's
		}
		if n, _, err := f.Sweep(t.Context(), pfs.Root, 0); n != 0 || err != nil {
			t.Errorf("%d uploads are left, %v", n, err)
		}
	}
}
