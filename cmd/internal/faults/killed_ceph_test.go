//go:build ceph

package faults

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	ceph "github.com/ceph/go-ceph/cephfs"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestServiceKilledOnCephFS kills the service by SIGKILL in the middle of two uploads. One resumes
// when the service is back, without an alarm, although CephFS has lost the bytes that the service
// had not yet written. The other is abandoned.
func TestServiceKilledOnCephFS(t *testing.T) {
	t.Parallel()
	c := testbed.Ceph(t)
	p := onCephFS(t, c)
	p.through(func() { p.restartServer(nil) })
	log, err := os.ReadFile(filepath.Join(filepath.Dir(p.data), "pfsd.log"))
	must(t, err)
	if bytes.Contains(log, []byte("level=ERROR")) {
		t.Errorf("the log of the service has an alarm:\n%s", log)
	}

	p.local("left", 48<<20)
	before := p.line.passed()
	cp := p.begin("cp", "-q", "--bwlimit", "8M", "left", p.home("left"))
	for p.line.passed()-before < 16<<20 && len(cp.ended) == 0 {
		time.Sleep(poll)
	}
	must(t, cp.Process.Kill())
	<-cp.ended
	p.restartServer(nil)
	pfstest.WantAbsent(t, p.direct, p.stored("left"))
	wantSwept(t, p.direct, 0)
	age(t, c, path.Join(p.root, string(storedHome)))
	wantSwept(t, p.direct, 1)
	pfstest.WantNames(t, p.direct, storedHome, "down", "up")
}

// age makes everything in a directory older than the retention period, with the store's own client.
func age(t *testing.T, c testbed.CephCluster, dir string) {
	t.Helper()
	m, err := ceph.CreateMountWithId(c.User)
	must(t, err)
	defer func() { _ = m.Release() }()
	must(t, m.ReadConfigFile(c.Conf))
	must(t, m.Mount())
	defer func() { _ = m.Unmount() }()
	d, err := m.OpenDir(dir)
	must(t, err)
	defer d.Close()
	old := time.Now().Add(-keptFor - time.Hour).Unix()
	for e, err := d.ReadDir(); e != nil || err != nil; e, err = d.ReadDir() {
		must(t, err)
		if e.Name() != "." && e.Name() != ".." {
			f, err := m.Open(path.Join(dir, e.Name()), os.O_WRONLY, 0)
			must(t, err)
			must(t, f.Futime(&ceph.Utime{AcTime: old, ModTime: old}))
			must(t, f.Close())
		}
	}
}
