package faults

import (
	"context"
	"errors"
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

// keptFor is the retention period of abandoned uploads.
const keptFor = 7 * 24 * time.Hour

// gated is a service over a real HDFS whose requests to it pass a gate.
type gated struct {
	*scene
	gate
	root   string         // the directory of the HDFS that it serves
	direct pfs.FileSystem // the same store, without the service and the gate
}

// behindGate starts the service. Files have blocks of 1 MiB.
func behindGate(t *testing.T, c *testbed.HDFSCluster) *gated {
	t.Helper()
	g := &gated{root: c.Scratch(t)}
	rpc := g.relay(t, c.NameNodes[0])
	config := filepath.Join(t.TempDir(), "pfsd.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `
datacenters:
  hdfs:
    store: hdfs://%s%s
    options: {user: %s, block-size: 1048576}
`, rpc.Address(), g.root, c.Superuser), 0o600))
	g.scene = newScene(t, "--config", config)
	g.direct = opened(t, backends.Spec{URL: "hdfs://" + g.root, Options: map[string]string{"conf-dir": c.ConfDir, "user": c.Superuser}})
	return g
}

// moment is a point in an upload: a request reaches the gate.
type moment struct {
	name    string
	answer  bool // HDFS carries the request out
	whole   bool // the file exists then
	request []string
}

// upload is an upload that has reached its moment.
type upload struct {
	*copying
	g    *gated
	m    moment
	trap *trap
	file string
	data []byte
}

// uploadTo begins the upload of a file and returns at the moment.
func (g *gated) uploadTo(t *testing.T, m moment, file string) *upload {
	t.Helper()
	u := &upload{g: g, m: m, file: file, data: g.local(file, 12<<20+345)}
	u.trap = g.set(m.answer, m.request...)
	u.copying = g.begin(u.args()...)
	select {
	case <-u.trap.came:
	case code := <-u.ended:
		t.Fatalf("the copy ended with %d before the request came\n%s", code, &u.out)
	}
	if m.whole {
		appears(t, g.direct, u.target())
	}
	return u
}

func (u *upload) args() []string {
	return []string{"cp", "-q", u.file, "/pfs/hdfs/home/alice/" + u.file}
}
func (u *upload) target() pfs.Path { return pfs.Path("/home/alice/" + u.file) }

// killServer kills the service, which gets no more answers.
func (u *upload) killServer() {
	u.g.killServer()
	close(u.trap.opened)
}

// wantTarget checks that the file is whole or absent, as it must be at the moment.
func (u *upload) wantTarget(t *testing.T) {
	t.Helper()
	if u.m.whole {
		pfstest.WantFile(t, u.g.direct, u.target(), u.data)
	} else {
		pfstest.WantAbsent(t, u.g.direct, u.target())
	}
}

// TestServiceKilledOnHDFS kills the service by SIGKILL at certain moments of an upload to a real
// HDFS: when a NameNode is about to get a request, and when it has carried one out without the
// service knowing. The file is whole or absent, and the upload resumes.
func TestServiceKilledOnHDFS(t *testing.T) {
	g := behindGate(t, testbed.HDFS(t))
	for i, m := range []moment{
		{"in the middle of parts", false, false, []string{"rename2", "part-00000005"}},
		{"before concat", false, false, []string{"concat", "joined"}},
		{"after concat", true, false, []string{"concat", "joined"}},
		{"before rename", false, false, []string{"rename2", g.root + "/home/alice/f3"}},
		{"after rename", true, true, []string{"rename2", g.root + "/home/alice/f4"}},
	} {
		t.Run(m.name, func(t *testing.T) {
			if strings.HasPrefix(m.name, "before") {
				testbed.Long(t) // these moments leave the service no less information than those after them
			}
			u := g.uploadTo(t, m, fmt.Sprint("f", i))
			u.killServer()
			u.wantTarget(t)
			wantSwept(t, g.direct, 0)
			g.startServer()
			code := <-u.ended
			t.Logf("the copy ends with %d", code)
			if code != 0 {
				if code, out := g.run(g.command("", u.args()...)); code != 0 {
					t.Fatalf("run again: exit %d\n%s", code, out)
				}
			}
			pfstest.WantFile(t, g.direct, u.target(), u.data)
			// The service that found the file published may have left its empty directory.
			if n, bytes, err := pfs.Sweep(t.Context(), g.direct, pfs.Root, 0); n != 0 && !m.whole || bytes != 0 || err != nil {
				t.Errorf("%d uploads with %d bytes are left, error %v", n, bytes, err)
			}
		})
	}
}

// TestUploadLeftOnHDFS kills service and client by SIGKILL. The abandoned upload is removed after
// the retention period, and not before.
func TestUploadLeftOnHDFS(t *testing.T) {
	c := testbed.HDFS(t)
	g := behindGate(t, c)
	old := time.Now().Add(-keptFor - time.Hour).UTC().Format("20060102:150405")
	stage := g.root + "/.pfs-stage/*/*"
	for _, left := range []struct {
		moment
		aged []string
	}{
		{moment{"parts", false, false, []string{"rename2", "part-00000005"}}, []string{stage, stage + "/*"}},
		{moment{"empty", true, true, []string{"rename2", g.root + "/home/alice/empty"}}, []string{stage}}, // the directory of a published file
	} {
		t.Run(left.name, func(t *testing.T) {
			u := g.uploadTo(t, left.moment, left.name)
			must(t, u.Process.Kill())
			<-u.ended
			u.killServer()
			g.startServer()
			wantSwept(t, g.direct, 0)
			c.Do(t, append([]string{"fs", "-touch", "-m", "-t", old}, left.aged...)...)
			wantSwept(t, g.direct, 1)
			u.wantTarget(t)
		})
	}
}

// wantSwept sweeps uploads as old as those that the service's sweep removes.
func wantSwept(t *testing.T, f pfs.FileSystem, want int) {
	t.Helper()
	if n, _, err := pfs.Sweep(t.Context(), f, pfs.Root, keptFor); n != want || err != nil {
		t.Errorf("%d uploads were swept, error %v, want %d", n, err, want)
	}
}

// appears waits until a file exists.
func appears(t *testing.T, f pfs.FileSystem, name pfs.Path) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := f.Stat(ctx, name)
	for errors.Is(err, pfs.NotExist) {
		_, err = f.Stat(ctx, name)
	}
	must(t, err)
}
