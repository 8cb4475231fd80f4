package backends

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/cephfs"
)

// hadoopConf makes a directory with a core-site.xml that has these properties.
func hadoopConf(t *testing.T, properties map[string]string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("<configuration>")
	for name, value := range properties {
		b.WriteString("<property><name>" + name + "</name><value>" + value + "</value></property>")
	}
	b.WriteString("</configuration>")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "core-site.xml"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestCheckClusters checks which options are refused, and that the message names the option or the
// part of the URL.
func TestCheckClusters(t *testing.T) {
	for _, name := range []string{"HADOOP_CONF_DIR", "HADOOP_USER_NAME", "KRB5_CONFIG", "CEPH_CONF"} {
		t.Setenv(name, "")
	}
	simple := hadoopConf(t, map[string]string{"fs.defaultFS": "hdfs://nn1:8020"})
	secure := hadoopConf(t, map[string]string{"fs.defaultFS": "hdfs://nn1:8020", "hadoop.security.authentication": "kerberos"})
	empty := t.TempDir()
	type o = map[string]string
	tests := []struct {
		url     string
		options o
		want    string // in the message, or ""
	}{
		{"hdfs://nn1/root", nil, ""},
		{"hdfs://nn1:8020,nn2:8021/", nil, ""},
		{"hdfs://[::1]:8020/root", nil, ""},
		{"hdfs://nn1/root?user=pfs&replication=2", nil, ""},
		{"hdfs://nn1/root", o{"user": "pfs", "block-size": "64M", "part-size": "128M", "replication": "2", "timeout": "5s", "datanode-hostname": "true"}, ""},
		{"hdfs:///root", o{"conf-dir": simple}, ""},
		{"hdfs:///root", o{"conf-dir": secure, "principal": "pfs@R", "keytab": "pfs.keytab"}, ""},
		{"hdfs:///root", o{"conf-dir": secure, "token-file": "token"}, ""},
		{"hdfs://nn1/root", o{"token-file": "token", "data-transfer-protection": "privacy"}, ""},
		{"hdfs://nn1/root", o{"principal": "pfs@R", "keytab": "pfs.keytab", "krb5-conf": "/k", "namenode-principal": "hdfs/_HOST", "data-transfer-protection": "authentication"}, ""},
		{"cephfs://mon1,mon2:6789/fs/root", nil, ""},
		{"cephfs://mon1/fs", o{"user": "pfs", "keyring": "/k", "conf": "/c", "timeout": "5s"}, ""},
		{"cephfs://mon1/fs?user=pfs&keyring=/k", nil, ""},
		{"cephfs:///fs", nil, ""},
		{"sftp://tunnel/srv?user=pfs&key=/k&known-hosts=/h", nil, ""},
		{"sftp://[::1]:2222/", o{"user": "pfs", "password-file": "p", "known-hosts": "h", "timeout": "5s"}, ""},
		{"sftp://tunnel/srv", o{"user": "pfs", "known-hosts": "h"}, "\"key\""},
		{"sftp://tunnel/srv", o{"key": "k", "known-hosts": "h"}, "\"user\""},
		{"sftp://tunnel/srv", o{"key": "k", "user": "pfs"}, "\"known-hosts\""},
		{"sftp:///srv", o{"user": "pfs", "key": "k", "known-hosts": "h"}, "sftp://HOST"},
		{"sftp://pfs@tunnel/srv", o{"key": "k", "known-hosts": "h"}, "neither a user nor a password"},
		{"cephfs://", o{"conf": "/c"}, ""},

		{"hdfs:nn1/root", nil, "hdfs://"},
		{"hdfs:///root", nil, "HADOOP_CONF_DIR"},
		{"hdfs:///root", o{"conf-dir": "no/such/dir"}, `"conf-dir"`},
		{"hdfs:///root", o{"conf-dir": empty}, empty},
		{"hdfs:///root", o{"conf-dir": secure}, `"principal"`},
		{"hdfs:///root", o{"conf-dir": secure, "principal": "pfs@R"}, `"keytab"`},
		{"hdfs:///root", o{"conf-dir": secure, "principal": "pfs@R", "keytab": "/k", "user": "pfs"}, `"user"`},
		{"hdfs:///root", o{"conf-dir": secure, "token-file": "/t", "keytab": "/k"}, `"keytab"`},
		{"hdfs://nn1/root", o{"principal": "pfs@R"}, `"principal"`},
		{"hdfs://nn1/root", o{"krb5-conf": "/k"}, `"krb5-conf"`},
		{"hdfs://nn1/root", o{"block-size": "64Q"}, `"block-size"`},
		{"hdfs://nn1/root", o{"part-size": ""}, `"part-size"`},
		{"hdfs://nn1/root", o{"replication": "-1"}, `"replication"`},
		{"hdfs://nn1/root", o{"timeout": "0"}, `"timeout"`},
		{"hdfs://nn1/root", o{"datanode-hostname": "perhaps"}, `"datanode-hostname"`},
		{"hdfs://nn1/root", o{"usr": "pfs"}, `"user"`},
		{"hdfs://nn1/root", o{"colour": "red"}, "block-size"},
		{"hdfs://nn1/root?user=a", o{"user": "b"}, "twice"},
		{"hdfs://nn1/root?user=a&user=b", nil, "twice"},
		{"hdfs://nn1/root?%zz", nil, "NAME=VALUE"},
		{"cephfs://", nil, `"conf"`},
		{"cephfs://mon1,,mon2/fs", nil, "cephfs://"},
		{"cephfs://mon1/fs", o{"timeout": "soon"}, `"timeout"`},
		{"cephfs://mon1/fs", o{"key": "secret"}, `"keyring"`},
		{"cephfs://mon1/fs?session=x", nil, `"session"`},
	}
	for _, tt := range tests {
		err := Check(Spec{URL: tt.url, Options: tt.options})
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s %v: %v", tt.url, tt.options, err)
		case tt.want != "" && (pfs.KindOf(err) != pfs.Invalid || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s %v: %v, want Invalid and %s", tt.url, tt.options, err, tt.want)
		}
	}
}

// TestCephOptions checks the mapping of the options of a CephFS.
func TestCephOptions(t *testing.T) {
	t.Setenv("CEPH_CONF", "/env.conf")
	for _, tt := range []struct {
		url     string
		options map[string]string
		want    cephfs.Options
	}{
		{"cephfs://m/fs", map[string]string{"user": "client.pfs", "keyring": "k", "timeout": "5s"},
			cephfs.Options{Monitors: []string{"m"}, FileSystem: "fs", Root: "/", User: "pfs", Keyring: "/etc/pfs/k", Timeout: 5 * time.Second}},
		{"cephfs:///fs", map[string]string{"user": "pfs"}, cephfs.Options{Config: "/env.conf", FileSystem: "fs", Root: "/", User: "pfs"}},
		{"cephfs:///fs/a", map[string]string{"conf": "/c"}, cephfs.Options{Config: "/c", FileSystem: "fs", Root: "/a"}},
	} {
		r := &request{url: tt.url, options: tt.options, dir: "/etc/pfs"}
		if got, err := r.ceph(); err != nil || r.err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s %v: %+v, %v, %v, want %+v", tt.url, tt.options, got, err, r.err, tt.want)
		}
	}
}

// A password in a URL is refused, and appears in no message.
func TestPasswordInURL(t *testing.T) {
	for _, url := range []string{
		"hdfs://alice:s3cret@nn1/root", "hdfs://nn1,alice:s3cret@nn2/root", "cephfs://admin:s3cret@mon1/fs", "file://alice:s3cret@/srv", "mem://alice:s3cret@x",
	} {
		err := Check(Spec{URL: url})
		if pfs.KindOf(err) != pfs.Invalid || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestHadoopConfDirFromEnvironment(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", hadoopConf(t, map[string]string{"fs.defaultFS": "hdfs://nn1:8020"}))
	if err := Check(Spec{URL: "hdfs:///root"}); err != nil {
		t.Error(err)
	}
	t.Setenv("HADOOP_CONF_DIR", filepath.Join(t.TempDir(), "missing"))
	if err := Check(Spec{URL: "hdfs:///root"}); pfs.KindOf(err) != pfs.Invalid || !strings.Contains(err.Error(), "HADOOP_CONF_DIR") {
		t.Errorf("HADOOP_CONF_DIR that is not there: %v", err)
	}
}

// Names of files begin at the directory of the configuration.
func TestRelativeFiles(t *testing.T) {
	dir := filepath.Dir(hadoopConf(t, map[string]string{"fs.defaultFS": "hdfs://nn1:8020"}))
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	if err := Check(Spec{URL: "hdfs:///root", Options: map[string]string{"conf-dir": entries[0].Name()}, Dir: dir}); err != nil {
		t.Error(err)
	}
}
