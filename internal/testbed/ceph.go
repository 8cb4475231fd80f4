package testbed

import (
	"path/filepath"
	"strings"
	"testing"
)

// cephPart is the name of a CephFS in reports.
const cephPart = "cephfs"

// CephCluster is a running Ceph cluster with one CephFS.
type CephCluster struct {
	Dir        string // its files
	Conf       string // its ceph.conf
	Keyring    string // with the key of User
	User       string // without "client."
	Monitors   string // host:port
	FileSystem string

	script string
}

// Ceph returns the cluster that all tests share.
func Ceph(t testing.TB) CephCluster { return ceph(t, false) }

// CephAlone returns the same cluster for a test that kills daemons. When the test ends everything
// is started again.
func CephAlone(t testing.TB) CephCluster {
	c := ceph(t, true)
	t.Cleanup(func() { c.run(t, "heal", c.Dir) })
	return c
}

func ceph(t testing.TB, alone bool) CephCluster {
	t.Helper()
	dir := filepath.Join(stateDir(t), "ceph")
	c := CephCluster{Dir: dir, script: script(t, "ceph.sh")}
	hold(t, cephPart, dir+".use", alone)
	v := up(t, cephPart, c.script, []string{"TESTBED_IDLE=" + idle}, "up", dir)
	c.Conf, c.Keyring, c.User = v["CONF"], v["KEYRING"], v["USER"]
	c.Monitors, c.FileSystem = v["MONITORS"], v["FILESYSTEM"]
	return c
}

// Kill ends a daemon ("mon", "mgr", "osd", "mds") as a power failure would.
func (c CephCluster) Kill(t testing.TB, daemon string) { t.Helper(); c.run(t, "kill", c.Dir, daemon) }

// Start starts a daemon that was killed.
func (c CephCluster) Start(t testing.TB, daemon string) { t.Helper(); c.run(t, "start", c.Dir, daemon) }

// Pause makes a daemon silent: it keeps its connections and answers nothing. Pause returns once the
// daemon has stopped.
func (c CephCluster) Pause(t testing.TB, daemon string) {
	t.Helper()
	c.run(t, "pause", c.Dir, daemon)
	awaitStopped(t, filepath.Join(c.Dir, "run", daemon+"."+idOf[daemon]+".pid"))
}

// Resume ends a Pause.
func (c CephCluster) Resume(t testing.TB, daemon string) {
	t.Helper()
	c.run(t, "resume", c.Dir, daemon)
}

// Clock restarts a daemon with its clock moved ("+3h"; "0" is the right time) until the end of the
// test. An OSD that is hours ahead does not start; an MDS starts but serves nobody.
func (c CephCluster) Clock(t testing.TB, daemon, offset string) {
	t.Helper()
	if offset != "0" {
		t.Cleanup(func() { c.Clock(t, daemon, "0") })
	}
	_, err := call(c.script, nil, "clock", c.Dir, daemon, offset)
	clockMoved(t, cephPart, err)
}

// Command runs the ceph command as the administrator and returns its output.
func (c CephCluster) Command(t testing.TB, args ...string) string {
	t.Helper()
	return c.run(t, append([]string{"ceph", c.Dir}, args...)...)
}

func (c CephCluster) run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := call(c.script, nil, args...)
	if err != nil {
		t.Fatalf("ceph.sh %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// idOf is the ID of each daemon, as in ceph.sh.
var idOf = map[string]string{"mon": "a", "mgr": "x", "osd": "0", "mds": "a"}
