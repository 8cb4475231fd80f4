package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// keptFor is how long the service keeps what was staged and is not gone on with.
const keptFor = 7 * 24 * time.Hour

// TestServiceKilledOnHDFS ends the service by SIGKILL at certain moments of an upload to
// a real HDFS: when a NameNode is about to get a request, and when it has carried one out
// and the service does not know. The file is whole or absent, and the upload goes on.
func TestServiceKilledOnHDFS(t *testing.T) {
	c := testbed.HDFS(t)
	root := c.Scratch(t)
	var g gate
	rpc := g.relay(t, c.NameNodes[0])
	web := g.relay(t, c.WebHDFS[0][len("http://"):])
	config := filepath.Join(t.TempDir(), "pfsd.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `
datacenters:
  hdfs:
    store: hdfs://%s%s
    options: {user: %s, webhdfs: "http://%s", block-size: 1048576}
`, rpc.Address(), root, c.Superuser, web.Address()), 0o600))
	s := newScene(t, "--config", config)
	store, err := backends.Open(t.Context(), backends.Spec{URL: "hdfs://" + root,
		Options: map[string]string{"conf-dir": c.ConfDir, "user": c.Superuser}}, backends.Caller{})
	must(t, err)
	t.Cleanup(func() { store.Close() })
	direct := store.FileSystem

	for i, moment := range []struct {
		name    string
		answer  bool // it was carried out
		whole   bool // the file is there
		request []string
	}{
		{"in the middle of parts", false, false, []string{"rename2", "part-00000005"}},
		{"before concat", false, false, []string{"op=CONCAT"}},
		{"after concat", true, false, []string{"op=CONCAT"}},
		{"before rename", false, false, []string{"rename2", root + "/home/alice/f3"}},
		{"after rename", true, true, []string{"rename2", root + "/home/alice/f4"}},
	} {
		t.Run(moment.name, func(t *testing.T) {
			name := fmt.Sprintf("f%d", i)
			data := s.random(12<<20 + 345)
			must(t, os.WriteFile(filepath.Join(s.work, name), data, 0o600))
			tr := g.set(moment.answer, moment.request...)
			cp := s.command("", "cp", "-q", name, "/pfs/hdfs/home/alice/"+name)
			var out bytes.Buffer
			cp.Stdout, cp.Stderr = &out, &out
			must(t, cp.Start())
			ended := make(chan int, 1)
			go func() { ended <- exitCode(cp.Wait()) }()
			select {
			case <-tr.came:
			case code := <-ended:
				t.Fatalf("the copy ended with %d before the request came\n%s", code, &out)
			}
			target := pfs.Path("/home/alice/" + name)
			if moment.whole {
				appears(t, direct, target)
			}
			_ = s.server.Process.Kill()
			_ = s.server.Wait()
			close(tr.opened)

			if moment.whole {
				pfstest.WantFile(t, direct, target, data)
			} else {
				pfstest.WantAbsent(t, direct, target)
			}
			wantSwept(t, direct, 0)
			s.startServer()
			code := <-ended
			t.Logf("killed %s: the copy ends with %d", moment.name, code)
			if code != 0 {
				if code, out := s.run(s.command("", "cp", "-q", name, "/pfs/hdfs/home/alice/"+name)); code != 0 {
					t.Fatalf("run again: exit %d\n%s", code, out)
				}
			}
			pfstest.WantFile(t, direct, target, data)
			// The service that found the file published may not have looked for its empty directory.
			if n, bytes, err := pfs.Sweep(t.Context(), direct, pfs.Root, 0); n != 0 && !moment.whole || bytes != 0 || err != nil {
				t.Errorf("%d staged writes with %d bytes are left, error %v", n, bytes, err)
			}
		})
	}

	// What nobody goes on with is swept once it is old, and not before.
	old := time.Now().Add(-keptFor - time.Hour).UTC().Format("20060102:150405")
	stage := root + "/.pfs-stage/*/*"
	for _, left := range []struct {
		name    string
		whole   bool
		request []string
		aged    []string
	}{
		{"parts", false, []string{"rename2", "part-00000005"}, []string{stage, stage + "/*"}},
		{"empty", true, []string{"rename2", root + "/home/alice/empty"}, []string{stage}}, // the directory of what has its name
	} {
		data := s.random(12 << 20)
		must(t, os.WriteFile(filepath.Join(s.work, left.name), data, 0o600))
		tr := g.set(left.whole, left.request...)
		cp := s.command("", "cp", "-q", left.name, "/pfs/hdfs/home/alice/"+left.name)
		must(t, cp.Start())
		<-tr.came
		target := pfs.Path("/home/alice/" + left.name)
		if left.whole {
			appears(t, direct, target)
		}
		must(t, cp.Process.Kill())
		_ = cp.Wait()
		_ = s.server.Process.Kill()
		_ = s.server.Wait()
		close(tr.opened)
		s.startServer()
		wantSwept(t, direct, 0)
		c.Do(t, append([]string{"fs", "-touch", "-m", "-t", old}, left.aged...)...)
		wantSwept(t, direct, 1)
		if left.whole {
			pfstest.WantFile(t, direct, target, data)
		} else {
			pfstest.WantAbsent(t, direct, target)
		}
	}
}

// wantSwept sweeps what is as old as the service's sweep wants it.
func wantSwept(t *testing.T, f pfs.FileSystem, want int) {
	t.Helper()
	if n, _, err := pfs.Sweep(t.Context(), f, pfs.Root, keptFor); n != want || err != nil {
		t.Errorf("%d staged writes were swept, error %v, want %d", n, err, want)
	}
}

// appears returns when a file is there.
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
