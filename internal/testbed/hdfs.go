package testbed

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// HDFSCluster is a running HDFS: one NameNode ("nn") or two ("nn1", "nn2"), and the DataNodes "dn1"
// to "dn3". Its block size may be as small as 64 KiB.
type HDFSCluster struct {
	NameNodes []string // host:port of their RPC
	WebHDFS   []string // URL of each one's web server
	ConfDir   string   // core-site.xml, hdfs-site.xml
	Superuser string

	// With Kerberos only: the configuration, the certificate of the web servers (PEM), and the
	// directory with nn.keytab, pfs.keytab, alice.keytab, ...
	KRB5Config, CA, Keytabs string

	// With Kerberos only: further addresses of the NameNode's RPC, where it is signed or encrypted.
	Integrity, Privacy string

	part   string
	dir    string
	script string
	env    []string
	alone  bool
}

// HDFS returns the cluster that all tests share.
func HDFS(t testing.TB) *HDFSCluster { return hdfs(t, "simple", false) }

// HDFSAlone returns the same cluster for a test that breaks something.
func HDFSAlone(t testing.TB) *HDFSCluster { return hdfs(t, "simple", true) }

// HDFSPair returns a cluster with two NameNodes, of which nn1 is active. DataNodes report new
// blocks to them up to half a second late.
func HDFSPair(t testing.TB) *HDFSCluster {
	c := hdfs(t, "ha", true)
	c.Failover(t, "nn1")
	return c
}

// HDFSSecure returns a cluster with Kerberos (realm PFS.TEST). It sets KRB5_CONFIG for the clients.
func HDFSSecure(t testing.TB) *HDFSCluster {
	c := hdfs(t, "secure", true)
	t.Setenv("KRB5_CONFIG", c.KRB5Config)
	return c
}

// HDFSEncrypted returns a cluster that encrypts its data transfer.
func HDFSEncrypted(t testing.TB) *HDFSCluster { return hdfs(t, "encrypted", true) }

func hdfs(t testing.TB, mode string, alone bool) *HDFSCluster {
	t.Helper()
	dir := filepath.Join(stateDir(t), "hdfs-"+mode)
	c := &HDFSCluster{
		part:   "hdfs-" + mode,
		dir:    dir,
		script: script(t, "hdfs.sh"),
		env:    []string{"HDFS_MODE=" + mode, "HDFS_DIR=" + dir, "TESTBED_IDLE=" + idle},
		alone:  alone,
	}
	hold(t, c.part, dir+".use", alone)
	c.up(t)
	if alone {
		t.Cleanup(func() { c.up(t) })
	}
	return c
}

// up starts all daemons that do not run and reads the addresses.
func (c *HDFSCluster) up(t testing.TB) {
	t.Helper()
	v := up(t, c.part, c.script, c.env, "up")
	c.NameNodes, c.WebHDFS = strings.Split(v["NAMENODES"], ","), strings.Split(v["WEBHDFS"], ",")
	c.ConfDir, c.KRB5Config, c.CA, c.Keytabs = v["HADOOP_CONF_DIR"], v["KRB5_CONFIG"], v["CA"], v["KEYTABS"]
	c.Integrity, c.Privacy = v["INTEGRITY"], v["PRIVACY"]
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	c.Superuser = u.Username
}

// Do runs a verb of hdfs.sh and returns its output.
func (c *HDFSCluster) Do(t testing.TB, args ...string) string {
	t.Helper()
	out, err := call(c.script, c.env, args...)
	if err != nil {
		t.Fatalf("hdfs.sh %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// Kill ends a daemon as a crash does.
func (c *HDFSCluster) Kill(t testing.TB, daemon string) { t.Helper(); c.Do(t, "kill", daemon) }

// Start starts a killed daemon and returns when it serves.
func (c *HDFSCluster) Start(t testing.TB, daemon string) { t.Helper(); c.Do(t, "start", daemon) }

// Pause makes a daemon accept connections but never answer. It returns once the daemon has stopped.
func (c *HDFSCluster) Pause(t testing.TB, daemon string) {
	t.Helper()
	c.Do(t, "pause", daemon)
	awaitStopped(t, filepath.Join(c.dir, "run", daemon+".pid"))
}

// Resume ends a Pause.
func (c *HDFSCluster) Resume(t testing.TB, daemon string) { t.Helper(); c.Do(t, "resume", daemon) }

// Clock restarts the KDC of a cluster with Kerberos, with its clock moved ("+2h", "-2h"; "0" is the
// right time), until the end of the test.
func (c *HDFSCluster) Clock(t testing.TB, offset string) {
	t.Helper()
	if offset != "0" {
		t.Cleanup(func() { c.Clock(t, "0") })
	}
	_, err := call(c.script, c.env, "clock", offset)
	clockMoved(t, c.part, err)
}

// Settle waits until every block has all of its replicas.
func (c *HDFSCluster) Settle(t testing.TB) { t.Helper(); c.Do(t, "settle") }

// Failover makes nn1 or nn2 the active NameNode.
func (c *HDFSCluster) Failover(t testing.TB, namenode string) {
	t.Helper()
	c.Do(t, "failover", namenode)
}

// Flip changes the byte at off of the HDFS file path in the replicas of the named DataNodes; by
// default, of all. The checksums keep their values.
func (c *HDFSCluster) Flip(t testing.TB, path string, off int64, datanodes ...string) {
	t.Helper()
	c.Do(t, append([]string{"flip", path, fmt.Sprint(off)}, datanodes...)...)
}

// FlipSum changes the checksum of the byte at off.
func (c *HDFSCluster) FlipSum(t testing.TB, path string, off int64, datanodes ...string) {
	t.Helper()
	c.Do(t, append([]string{"flip-sum", path, fmt.Sprint(off)}, datanodes...)...)
}

// FlipUnit changes a byte of a unit of the first block group of an erasure-coded file.
func (c *HDFSCluster) FlipUnit(t testing.TB, path string, unit int) {
	t.Helper()
	c.Do(t, "flip-unit", path, fmt.Sprint(unit))
}

// Decommission begins to decommission exactly these DataNodes: their blocks get as many replicas elsewhere. The end of the test
// ends it.
func (c *HDFSCluster) Decommission(t testing.TB, datanodes ...string) {
	t.Helper()
	if len(datanodes) > 0 {
		t.Cleanup(func() { c.Decommission(t) })
	}
	c.Do(t, append([]string{"exclude"}, datanodes...)...)
}

// Capacity restarts the DataNodes with this capacity each, in bytes, until the end of a test that has the cluster alone.
func (c *HDFSCluster) Capacity(t testing.TB, bytes int64) {
	t.Helper()
	c.Do(t, "capacity", fmt.Sprint(bytes))
}

// DataNode returns the address of a DataNode.
func (c *HDFSCluster) DataNode(t testing.TB, name string) string {
	t.Helper()
	ports, err := os.ReadFile(filepath.Join(c.dir, "ports"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(ports)) {
		if port, ok := strings.CutPrefix(line, name+" "); ok {
			return "127.0.0.1:" + strings.TrimSpace(port)
		}
	}
	t.Fatalf("there is no DataNode %s", name)
	return ""
}

// SafeMode makes the NameNode refuse changes until the end of the test, or until the returned
// function is called.
func (c *HDFSCluster) SafeMode(t testing.TB) (leave func()) {
	t.Helper()
	left := false
	leave = func() {
		if !left {
			left = true
			c.Do(t, "safemode", "leave")
		}
	}
	t.Cleanup(leave)
	c.Do(t, "safemode", "enter")
	return leave
}

var scratches atomic.Int64

// Scratch makes an HDFS directory for the test, writable for all, and removes it when the test
// ends.
func (c *HDFSCluster) Scratch(t testing.TB) string {
	t.Helper()
	dir := fmt.Sprintf("/test-%d-%d", os.Getpid(), scratches.Add(1))
	if c.Keytabs != "" {
		web := func(method, query string) { c.Do(t, "kinit", "nn"); c.Do(t, "webhdfs", method, dir, query) }
		web(http.MethodPut, "op=MKDIRS&permission=777")
		t.Cleanup(func() { web(http.MethodDelete, "op=DELETE&recursive=true") })
		return dir
	}
	if strings.HasPrefix(os.Getenv("HDFS_VERSION"), "2.") { // its WebHDFS does not start on Java 17
		c.Do(t, "fs", "-mkdir", dir)
		c.Do(t, "fs", "-chmod", "777", dir)
		return dir
	}
	c.web(t, http.MethodPut, dir, "MKDIRS", "permission", "777")
	t.Cleanup(func() {
		if c.alone {
			c.up(t) // the test may have left something broken
		}
		c.web(t, http.MethodDelete, dir, "DELETE", "recursive", "true")
	})
	return dir
}

// web does one operation over WebHDFS as the superuser, on whichever NameNode accepts it.
func (c *HDFSCluster) web(t testing.TB, method, path, op, name, value string) {
	t.Helper()
	query := url.Values{"op": {op}, "user.name": {c.Superuser}, name: {value}}
	var last string
	for _, base := range c.WebHDFS {
		req, err := http.NewRequest(method, base+"/webhdfs/v1"+path+"?"+query.Encode(), nil)
		if err != nil {
			t.Fatal(err)
		}
		client := http.Client{Timeout: time.Minute} // an overloaded machine answers late
		resp, err := client.Do(req)
		if err != nil {
			last = err.Error()
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
		last = resp.Status
	}
	t.Errorf("%s of %s: %s", op, path, last)
}
