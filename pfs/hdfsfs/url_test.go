package hdfsfs

import (
	"path"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestParseURL reads store URLs and configurations.
func TestParseURL(t *testing.T) {
	dir := t.TempDir()
	const site = `<configuration>
<property><name>fs.defaultFS</name><value>hdfs://prod</value></property>
<property><name>dfs.ha.namenodes.prod</name><value>b, a</value></property>
<property><name>dfs.namenode.rpc-address.prod.a</name><value>h1:8020</value></property>
<property><name>dfs.namenode.rpc-address.prod.b</name><value>h2:8020</value></property>
</configuration>`
	must(t, writeLocal(path.Join(dir, "core-site.xml"), []byte(site)))
	for _, c := range []struct{ store, conf, names, root string }{
		{"hdfs://h:1,g/r", "", "h:1 g:8020", "/r"},
		{"hdfs:///a/b/", dir, "h2:8020 h1:8020", "/a/b"},
		{"hdfs://[::1]:1,[fd00::2]/r", "", "[::1]:1 [fd00::2]:8020", "/r"},
		{"hdfs://prod/", dir, "h2:8020 h1:8020", "/"},
	} {
		o, err := ParseURL(c.store, c.conf)
		must(t, err)
		if got := strings.Join(o.NameNodes, " "); got != c.names || o.Root != c.root {
			t.Errorf("%s: %v, %q", c.store, o.NameNodes, o.Root)
		}
	}
	for _, bad := range []string{"file:///x", "hdfs:///x", "hdfs://user@h/x", "hdfs://,/x"} {
		if _, err := ParseURL(bad, ""); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
	// A NameNode without an address, or without a port, would count as one that is down.
	for _, address := range []string{"", "h2"} {
		must(t, writeLocal(path.Join(dir, "core-site.xml"), []byte(strings.Replace(site, "h2:8020", address, 1))))
		_, err := ParseURL("hdfs:///", dir)
		pfstest.WantKind(t, err, pfs.Invalid)
	}
}
