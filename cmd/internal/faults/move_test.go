package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestMoveKilled moves a tree from HDFS to CephFS and back, and kills the client by SIGKILL while
// it copies and while it removes, and the service too. After each kill every file is in one of the
// places, and the same command completes the move.
func TestMoveKilled(t *testing.T) {
	testbed.Long(t)
	needCeph(t)
	hdfs, ceph := testbed.HDFS(t), testbed.Ceph(t)
	config := filepath.Join(t.TempDir(), "pfsd.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `
datacenters:
  hdfs:
    store: hdfs://%s
    options: {conf-dir: %s, block-size: 1M}
  ceph:
    store: cephfs://%s/%s
    options: {user: %s, keyring: %s}
`, hdfs.Scratch(t), hdfs.ConfDir, ceph.Monitors, ceph.FileSystem, ceph.User, ceph.Keyring), 0o600))
	m := &move{way: &way{scene: newScene(t, "--config", config)}}
	dir := filepath.Join(m.work, "tree")
	for i := range 24 {
		m.file(filepath.Join(dir, "large"), i, 2<<20)
	}
	for i := range 300 {
		m.file(filepath.Join(dir, "small"), i, 1000)
	}
	m.sum = m.sums("tree")
	const onHDFS, onCeph = "/pfs/hdfs/home/alice/tree", "/pfs/ceph/home/alice/moved"
	t.Cleanup(func() { m.run(m.command("", "rm", "-r", "-f", onCeph)) })
	m.must("sync", "-q", "tree", onHDFS)
	m.through(onHDFS, onCeph)
	m.through(onCeph, onHDFS)
}

// move is the move of a tree.
type move struct {
	*way
	sum string // of the tree
}

func (m *move) file(dir string, i, size int) {
	must(m.T, os.MkdirAll(dir, 0o755))
	must(m.T, os.WriteFile(filepath.Join(dir, fmt.Sprint("f", i)), m.random(size), 0o644))
	m.size += int64(size)
}

// through moves the tree, with interruptions.
func (m *move) through(from, to string) {
	m.Helper()
	for _, moment := range []struct {
		name    string
		come    func() bool
		service bool // is the service killed too
	}{
		{"copied a third", func() bool { return m.arrived(to) > m.size/3 }, false},
		{"copied two thirds", func() bool { return m.arrived(to) > m.size*2/3 }, true},
		{"removes", func() bool { return m.arrived(from) < m.size }, false},
	} {
		mv := m.begin("mv", from, to)
		for !moment.come() && len(mv.ended) == 0 {
			time.Sleep(poll / 20)
		}
		must(m.T, killed(mv))
		if code := <-mv.ended; code == 0 {
			m.Logf("%s to %s: it had ended before it was killed when it had %s", from, to, moment.name)
		}
		if moment.service {
			m.restartServer(nil)
		}
		m.wantSomewhere(to, from)
	}
	if code, out := m.run(m.command("", "mv", from, to)); code != 0 && code != 3 {
		m.Errorf("mv again: exit %d\n%s", code, out)
	}
	if code, out := m.run(m.command("", "stat", from)); code != 3 {
		m.Errorf("the source is still there: exit %d\n%s", code, out)
	}
	m.must("sync", "-q", to, "whole")
	if got := m.sums("whole"); got != m.sum {
		m.Errorf("%s has\n%.1000s\nwant\n%.1000s", to, got, m.sum)
	}
}

// killed kills a command by SIGKILL, if it has not ended.
func killed(c *copying) error {
	if err := c.Process.Kill(); err != nil && err != os.ErrProcessDone {
		return err
	}
	return nil
}

// wantSomewhere checks that every file is whole in one of two trees.
func (m *move) wantSomewhere(trees ...string) {
	m.Helper()
	all := filepath.Join(m.work, "all")
	must(m.T, os.RemoveAll(all))
	for _, tree := range trees {
		code, out := m.run(m.command("", "cp", "-r", "-q", "-n", "--exclude", ".paddlectl-moving", tree+"/", "all"))
		if code != 0 && code != 3 && code != 5 && code != 8 {
			m.Errorf("copy of %s: exit %d\n%s", tree, code, out)
		}
	}
	if got := m.sums("all"); got != m.sum {
		m.Errorf("together they have\n%.1000s\nwant\n%.1000s", got, m.sum)
	}
}
