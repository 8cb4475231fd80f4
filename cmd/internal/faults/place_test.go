package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// place is a service with two datacenters: one on a real store, and "local" on the disk.
type place struct {
	*scene
	dc     string         // the datacenter on the real store
	root   string         // the directory of the HDFS or CephFS that it serves
	direct pfs.FileSystem // the same store, without the service
	pause  func()         // makes the store silent
	resume func()         // ends the silence; may be called more than once
}

// patience is the timeout of calls to a real store that will be silent.
const patience = "3s"

// onHDFS serves a fresh directory of the cluster. Files have blocks of 1 MiB.
func onHDFS(t *testing.T, c *testbed.HDFSCluster, options ...string) *place {
	t.Helper()
	root := c.Scratch(t)
	spec := backends.Spec{URL: "hdfs://" + root,
		Options: map[string]string{"conf-dir": c.ConfDir, "user": c.Superuser, "block-size": "1048576"}}
	p := newPlace(t, "hdfs", spec, options)
	p.root = root
	p.pause, p.resume = func() { c.Pause(t, "nn") }, func() { c.Resume(t, "nn") }
	t.Cleanup(p.resume)
	return p
}

// onCephFS serves a directory of the CephFS.
func onCephFS(t *testing.T, c testbed.CephCluster, options ...string) *place {
	t.Helper()
	spec, root := cephDir(t, c)
	p := newPlace(t, "ceph", spec, options)
	p.root = root
	p.pause, p.resume = func() { c.Pause(t, "mds") }, func() { c.Resume(t, "mds") }
	t.Cleanup(p.resume)
	return p
}

// cephDir makes a directory of the CephFS, which is removed when the test ends.
func cephDir(t *testing.T, c testbed.CephCluster) (spec backends.Spec, dir string) {
	t.Helper()
	spec = backends.Spec{URL: "cephfs://" + c.Monitors + "/" + c.FileSystem,
		Options: map[string]string{"user": c.User, "keyring": c.Keyring}}
	top, name := opened(t, spec), pfs.Root.Join("faults-"+pfs.NewID())
	must(t, top.Mkdir(t.Context(), name, 0o755))
	t.Cleanup(func() {
		if err := pfs.RemoveTree(context.Background(), top, name); err != nil {
			t.Errorf("removal of %s: %v", name, err)
		}
	})
	spec.URL += string(name)
	return spec, string(name)
}

// newPlace starts a service with the store and further options for it. A directory that users see
// with their own rights on the store is mapped to "kept".
func newPlace(t *testing.T, dc string, spec backends.Spec, options []string) *place {
	t.Helper()
	p := &place{dc: dc, direct: opened(t, spec)}
	must(t, p.direct.Mkdir(t.Context(), "/kept", 0o755))
	var config strings.Builder
	fmt.Fprintf(&config, "datacenters:\n  local: {store: \"file://%s\"}\n  %s:\n    store: %s\n    dir: /pfs\n", t.TempDir(), dc, spec.URL)
	if spec.Options["principal"] == "" { // with Kerberos the service can only be itself
		fmt.Fprint(&config, "    mounts:\n      kept: {path: /kept, access: everybody, as-user: true, write: true}\n")
	}
	fmt.Fprint(&config, "    options:\n")
	for name, value := range spec.Options {
		fmt.Fprintf(&config, "      %s: %q\n", name, value)
	}
	for _, o := range options {
		fmt.Fprintf(&config, "      %s\n", o)
	}
	file := filepath.Join(t.TempDir(), "pfsd.yaml")
	must(t, os.WriteFile(file, []byte(config.String()), 0o600))
	p.scene = newScene(t, "--config", file)
	return p
}

// opened opens a store without the service.
func opened(t *testing.T, spec backends.Spec) pfs.FileSystem {
	t.Helper()
	store, err := backends.Open(t.Context(), spec, backends.Caller{})
	must(t, err)
	t.Cleanup(func() { store.Close() })
	return store.FileSystem
}

// storedHome is the path of alice's home on the store.
const storedHome pfs.Path = "/pfs/home/alice"

// home returns the name of alice's file for paddlectl, stored its path on the store.
func (p *place) home(name string) string     { return "/pfs/" + p.dc + "/home/alice/" + name }
func (p *place) stored(name string) pfs.Path { return storedHome.Join(name) }

// put writes a local file of alice's and copies it to the store.
func (p *place) put(name string, size int) []byte {
	p.Helper()
	data := p.local(name, size)
	p.want(0, "", "cp", "-q", name, p.home(name))
	return data
}

// want runs paddlectl and checks its exit code and its output.
func (p *place) want(code int, says string, args ...string) {
	p.Helper()
	got, out := p.run(p.command("", args...))
	p.wantSaid(args, got, out, code, says)
}

// wantSaid checks how a command ended. No fault makes a file "not found", and none makes a listing
// empty, which would be exit code 0.
func (p *place) wantSaid(args []string, got int, out string, code int, says string) {
	p.Helper()
	if got != code || !strings.Contains(out, says) || code != 3 && strings.Contains(out, "not found") {
		p.Errorf("paddlectl %.200q: exit %d, want %d and %q:\n%.500q", args, got, code, says, out)
	}
}

// wantLocal checks a local file of alice's.
func (p *place) wantLocal(name string, data []byte) {
	p.Helper()
	got, err := os.ReadFile(filepath.Join(p.work, name))
	if err != nil || !bytes.Equal(got, data) {
		p.Errorf("%s has %d bytes, not the %d that it should: %v", name, len(got), len(data), err)
	}
}

// through copies a file up and one down, and strikes in the middle of both. Both commands must end
// with 0, and the files must be whole.
func (p *place) through(strike func()) {
	p.Helper()
	const size = 48 << 20
	down := p.put("down", size)
	up := p.local("up", size)
	before := p.line.passed()
	copies := []*copying{
		p.begin("cp", "-q", "--bwlimit", "4M", "up", p.home("up")),
		p.begin("cp", "-q", "--bwlimit", "4M", p.home("down"), "got"),
	}
	for p.line.passed()-before < size/2 {
		time.Sleep(poll)
		for _, c := range copies {
			if len(c.ended) > 0 {
				p.Fatalf("paddlectl %q has ended before anything was broken:\n%s", c.Args[1:], &c.out)
			}
		}
	}
	pfstest.WantAbsent(p.T, p.direct, p.stored("up"))
	strike()
	for _, c := range copies {
		code := <-c.ended
		p.Logf("paddlectl %q: exit %d\n%s", c.Args[1:], code, &c.out)
		p.wantSaid(c.Args[1:], code, c.out.String(), 0, "")
	}
	pfstest.WantFile(p.T, p.direct, p.stored("up"), up)
	p.wantLocal("got", down)
}
