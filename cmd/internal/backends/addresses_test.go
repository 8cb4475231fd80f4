package backends

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAddresses(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HADOOP_CONF_DIR", "")
	t.Setenv("CEPH_CONF", "")
	files := map[string]string{
		"hdfs/hdfs-site.xml": `<configuration>
<property><name>fs.defaultFS</name><value>hdfs://pair</value></property>
<property><name>dfs.ha.namenodes.pair</name><value>a,b</value></property>
<property><name>dfs.namenode.rpc-address.pair.a</name><value>n1:8020</value></property>
<property><name>dfs.namenode.rpc-address.pair.b</name><value>n2:9000</value></property>
</configuration>`,
		"old.conf": "[global]\n  mon host = m1, m2:6790 # ours\n",
		"new.conf": "[global]\nmon_host = [v2:10.0.0.1:3300/0,v1:10.0.0.1:6789/0] [v2:[fd00::1]:3300/0]\n",
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hdfs := map[string]string{"conf-dir": "hdfs"}
	for _, row := range []struct {
		url     string
		options map[string]string
		want    []string
	}{
		{"hdfs://n1,n2:9000/d", nil, []string{"n1:8020", "n2:9000"}},
		{"hdfs:///", hdfs, []string{"n1:8020", "n2:9000"}},
		{"hdfs://pair/d", hdfs, []string{"n1:8020", "n2:9000"}},
		{"hdfs:///", nil, nil},
		{"cephfs://m1:6790/fs", nil, []string{"m1:6790"}},
		{"cephfs:///fs", map[string]string{"conf": "old.conf"}, []string{"m1:3300", "m1:6789", "m2:6790"}},
		{"cephfs:///fs", map[string]string{"conf": "new.conf"}, []string{"10.0.0.1:3300", "10.0.0.1:6789", "[fd00::1]:3300"}},
		{"cephfs:///fs?conf=new.conf", nil, []string{"10.0.0.1:3300", "10.0.0.1:6789", "[fd00::1]:3300"}},
		{"cephfs:///fs", map[string]string{"conf": "none.conf"}, nil},
		{"sftp://h/d", nil, []string{"h:22"}},
		{"sftp://[::1]:2222/d", nil, []string{"[::1]:2222"}},
		{"file:///srv", nil, nil},
		{"mem:", nil, nil},
	} {
		if got := Addresses(Spec{URL: row.url, Options: row.options, Dir: dir}); !slices.Equal(got, row.want) {
			t.Errorf("Addresses(%s %v) = %q, want %q", row.url, row.options, got, row.want)
		}
	}
}
