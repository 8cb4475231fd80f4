package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// silent is a store that is silent for a time in the middle of copies.
type silent struct {
	name string
	on   func(t *testing.T) *place
	stop time.Duration
	up   bool // a tree goes up, too
	late bool // the copies begin when the store is silent already
}

// TestSlowSilence pauses the MDS or the NameNode for longer than the service waits for it. A copy
// succeeds, or reports that the store is unavailable; then the same command succeeds.
func TestSlowSilence(t *testing.T) {
	testbed.Long(t)
	needCeph(t)
	onHDFS := func(t *testing.T) *place { return onHDFS(t, testbed.HDFSAlone(t)) }
	onCeph := func(t *testing.T) *place { return onCephFS(t, testbed.CephAlone(t)) }
	for _, s := range []silent{
		{"NameNode, 60 s, download", onHDFS, time.Minute, false, false},
		{"MDS, 60 s, download", onCeph, time.Minute, false, false},
		{"MDS, 60 s, download that begins then", onCeph, time.Minute, false, true},
		{"MDS, 5 minutes", onCeph, 5 * time.Minute, true, false},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(s.on(t))
		})
	}
}

func (s silent) run(p *place) {
	p.Helper()
	const files, size = 12, 4 << 20 // a file that is open may not need the daemon any more
	for _, dir := range []string{"down", "up"} {
		must(p.T, os.Mkdir(filepath.Join(p.work, dir), 0o755))
		for i := range files {
			p.local(filepath.Join(dir, fmt.Sprint(i)), size)
		}
	}
	p.want(0, "", "cp", "-q", "-r", "down/", p.home("down"))
	p.stopServer() // a CephFS client answers from its cache even while the cluster is silent
	p.startServer()
	commands := map[string][]string{"down": {"cp", "-r", "-j", "1", "--bwlimit", "4M", p.home("down") + "/", "got"}}
	if s.up {
		commands["up"] = []string{"cp", "-r", "-j", "1", "--bwlimit", "4M", "up/", p.home("up")}
	}
	if s.late {
		p.pause()
	}
	before := p.line.passed()
	running := map[string]*copying{}
	for name, args := range commands {
		running[name] = p.begin(args...)
	}
	for !s.late && p.line.passed()-before < len(commands)*files*size/4 {
		time.Sleep(poll)
	}
	began := time.Now()
	if !s.late {
		p.pause()
	}
	wake := time.AfterFunc(s.stop, p.resume)
	defer wake.Stop()
	var ended sync.WaitGroup
	for name, c := range running {
		ended.Go(func() {
			code := <-c.ended
			p.Logf("cp %s: exit %d, %v after the store stopped\n%s", name, code, time.Since(began).Round(time.Second), &c.out)
			if code != 0 {
				p.wantSaid(c.Args[1:], code, c.out.String(), 6, "unavailable")
			}
		})
	}
	ended.Wait()
	time.Sleep(time.Until(began.Add(s.stop)))
	p.resume()
	began = time.Now()
	for name, args := range commands {
		p.wantWithin(2*time.Minute, args...)
		p.Logf("cp %s: the same command ended with 0, %v after the store was back", name, time.Since(began).Round(time.Second))
	}
	p.wantSameTree("down", "got")
	if s.up {
		p.want(0, "", "cp", "-q", "-r", p.home("up")+"/", "up-again")
		p.wantSameTree("up", "up-again")
	}
}

// wantSameTree compares two local trees of alice's.
func (p *place) wantSameTree(a, b string) {
	p.Helper()
	w := &way{scene: p.scene}
	if got, want := w.sums(b), w.sums(a); got != want || want == "" {
		p.Errorf("%s is not the same as %s:\n%s\nwant\n%s", b, a, got, want)
	}
}

// wantWithin runs paddlectl until it ends with 0, within a given time. Until then the store may be
// unavailable.
func (p *place) wantWithin(limit time.Duration, args ...string) {
	p.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(time.Second) {
		code, out := p.run(p.command("", args...))
		if code == 0 {
			return
		}
		if p.wantSaid(args, code, out, 6, "unavailable"); time.Now().After(end) {
			p.Fatalf("paddlectl %q: exit %d after %v:\n%s", args, code, limit, out)
		}
	}
}

// TestSlowFull fills the OSD of a CephFS in the middle of copies. Files that exist can be read and
// removed, no partial file is visible, and the same commands succeed when there is space.
func TestSlowFull(t *testing.T) {
	testbed.Long(t)
	needCeph(t)
	c := testbed.CephAlone(t)
	p := onCephFS(t, c)
	full := func(state string) { c.Command(t, "tell", "osd.0", "injectfull", state) }
	t.Cleanup(func() { full("none") })
	kept := p.put("kept", 8<<20)
	p.put("gone", 8<<20)
	large := p.local("large", 64<<20)
	p.want(0, "", "cp", "-q", "large", "/pfs/local/home/alice/large")

	began := time.Now()
	before := p.line.passed()
	cp := p.begin("cp", "-q", "--bwlimit", "4M", "large", p.home("large"))
	for p.line.passed()-before < 16<<20 {
		time.Sleep(poll)
	}
	full("full")
	code := <-cp.ended
	p.Logf("cp of a file: exit %d, %v after its begin\n%s", code, time.Since(began).Round(time.Second), &cp.out)
	p.wantSaid(cp.Args[1:], code, cp.out.String(), 1, "no space left")
	pfstest.WantAbsent(t, p.direct, p.stored("large"))
	for _, args := range [][]string{
		{"cp", "-q", "kept", p.home("small")},
		{"cp", "-q", "/pfs/local/home/alice/large", p.home("inside")},
	} {
		began := time.Now()
		code, out := p.run(p.command("", args...))
		p.Logf("paddlectl %q: exit %d after %v\n%s", args, code, time.Since(began).Round(time.Second), out)
		p.wantSaid(args, code, out, 1, "no space left")
	}
	pfstest.WantNames(t, p.direct, storedHome, "gone", "kept")
	p.want(0, "", "cp", "-q", p.home("kept"), "got")
	p.wantLocal("got", kept)
	p.want(0, "", "rm", p.home("gone"))
	pfstest.WantNames(t, p.direct, storedHome, "kept")

	full("none")
	for _, args := range [][]string{
		{"cp", "-q", "large", p.home("large")},
		{"cp", "-q", "/pfs/local/home/alice/large", p.home("inside")},
	} {
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
			code, out := p.run(p.command("", args...))
			if code == 0 {
				break
			}
			if p.wantSaid(args, code, out, 1, "no space left"); time.Now().After(end) {
				t.Fatal("there is no space again after a minute")
			}
		}
	}
	pfstest.WantFile(t, p.direct, p.stored("large"), large)
	pfstest.WantFile(t, p.direct, p.stored("inside"), large)
}

// TestSlowLeftovers lists, with Ceph's own client, the files that remain after interrupted
// uploads and after removals.
func TestSlowLeftovers(t *testing.T) {
	testbed.Long(t)
	needCeph(t)
	c := testbed.Ceph(t)
	p := onCephFS(t, c)
	seen := mountFuse(t, c)
	home := filepath.Join(seen, p.root, string(storedHome))

	p.put("whole", 3<<20)
	must(t, os.Mkdir(filepath.Join(p.work, "tree"), 0o755))
	for i := range 200 {
		p.local(fmt.Sprintf("tree/%d", i), 1000)
	}
	p.local("large", 64<<20)
	for _, how := range []struct {
		name   string
		signal os.Signal
	}{{"SIGINT", os.Interrupt}, {"SIGKILL", os.Kill}} {
		before := p.line.passed()
		cp := p.begin("cp", "-q", "--bwlimit", "8M", "large", p.home("large"))
		for p.line.passed()-before < 16<<20 {
			time.Sleep(poll)
		}
		must(t, cp.Process.Signal(how.signal))
		<-cp.ended
		names := walkFuse(t, home)
		p.Logf("after %s of cp: %q", how.name, names)
		if len(names) != 2 || !strings.HasPrefix(names[0], ".pfs-up-") || names[1] != "whole" {
			t.Errorf("after %s of cp there is %q, want the one unfinished upload beside the file", how.name, names)
		}
	}
	p.restartServer(nil) // kill -9: the uploads of the service are found again
	p.want(0, "1 unfinished upload", "rm", "--unfinished", p.home(""))
	wantFuse(t, home, "whole")

	before := p.line.passed()
	cp := p.begin("cp", "-q", "-r", "--bwlimit", "100K", "tree/", p.home("tree"))
	for p.line.passed()-before < 50<<10 {
		time.Sleep(poll)
	}
	must(t, cp.Process.Kill())
	<-cp.ended
	p.Logf("after SIGKILL of cp -r: %d names", len(walkFuse(t, home)))
	p.want(0, "", "cp", "-q", "-r", "tree/", p.home("tree"))
	p.want(0, "", "cp", "-q", "large", p.home("large"))
	names := walkFuse(t, home)
	if i := slices.IndexFunc(names, func(n string) bool { return strings.Contains(n, ".pfs-") }); i >= 0 || len(names) != 203 {
		t.Errorf("after the copies ended there are %d names, want 203 and none of ours: %q", len(names), names)
	}
	p.want(0, "", "rm", p.home("large"))
	p.want(0, "", "rm", "-r", p.home("tree"))
	wantFuse(t, home, "whole")
	p.want(0, "", "rm", p.home("whole"))
	wantFuse(t, home)
}

// mountFuse mounts a CephFS with Ceph's own client.
func mountFuse(t *testing.T, c testbed.CephCluster) (dir string) {
	t.Helper()
	program, err := exec.LookPath("ceph-fuse")
	if err != nil {
		t.Skip("ceph-fuse is missing; on Debian: apt-get install ceph-fuse")
	}
	dir = t.TempDir()
	if out, err := exec.Command(program, "-c", c.Conf, "--id", c.User, dir).CombinedOutput(); err != nil {
		t.Skipf("ceph-fuse cannot mount here: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v\n%s", dir, err, out)
		}
	})
	return dir
}

// walkFuse lists everything below a directory, as find prints it.
func walkFuse(t *testing.T, dir string) []string {
	t.Helper()
	c := exec.Command("find", ".", "-mindepth", "1", "-printf", "%P\n")
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("find in %s: %v\n%s", dir, err, out)
	}
	names := strings.Fields(string(out))
	slices.Sort(names)
	return names
}

// wantFuse checks that a directory holds these names, and no others.
func wantFuse(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := walkFuse(t, dir); !slices.Equal(got, want) {
		t.Errorf("ceph-fuse sees %q, want %q", got, want)
	}
}

// TestSlowDamagedInside flips a byte in all replicas of a block while the service copies the file
// to a CephFS, and lets it copy a tree with a file that is damaged.
func TestSlowDamagedInside(t *testing.T) {
	testbed.Long(t)
	needCeph(t)
	hdfs := testbed.HDFSAlone(t)
	ceph := testbed.Ceph(t)
	root := hdfs.Scratch(t)
	config := filepath.Join(t.TempDir(), "pfsd.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `
datacenters:
  hdfs:
    store: hdfs://%s
    options: {conf-dir: %s, block-size: 1M}
  ceph:
    store: cephfs://%s/%s
    options: {user: %s, keyring: %s}
`, root, hdfs.ConfDir, ceph.Monitors, ceph.FileSystem, ceph.User, ceph.Keyring), 0o600))
	s := newScene(t, "--config", config)
	w := &way{scene: s}
	const from, to = "/pfs/hdfs/home/alice/", "/pfs/ceph/home/alice/damaged/"
	t.Cleanup(func() { s.run(s.command("", "rm", "-r", "-f", to)) })
	data := s.local("f", 96<<20)
	w.must("mkdir", "-p", from+"tree", to)
	w.must("cp", "-q", "f", from+"tree/f")
	for _, name := range []string{"a", "z"} {
		s.local(name, 3<<20)
		w.must("cp", "-q", name, from+"tree/"+name)
	}

	flip := func() { hdfs.Flip(t, root+"/home/alice/tree/f", 90<<20+12345) }
	cp := (&place{scene: s}).begin("cp", "-q", from+"tree/f", to+"f")
	time.Sleep(150 * time.Millisecond) // copying 96 MiB takes longer than that
	must(t, s.server.Process.Signal(syscall.SIGSTOP))
	flip()
	must(t, s.server.Process.Signal(syscall.SIGCONT))
	began := time.Now()
	code := <-cp.ended
	t.Logf("cp inside the service: exit %d, %v after the damage\n%s", code, time.Since(began).Round(time.Millisecond), &cp.out)
	says := func(what string, code int, out string, want int) {
		t.Helper()
		if code != want || !strings.Contains(out, from+"tree/f") || !strings.Contains(out, "integrity check failed") || !strings.Contains(out, "block") {
			t.Errorf("%s: exit %d, want %d, the file and its block:\n%s", what, code, want, out)
		}
	}
	says("cp of the file", code, cp.out.String(), 7)
	if code, _ := s.run(s.command("", "stat", to+"f")); code != 3 {
		t.Errorf("stat of the copy: exit %d, want 3", code)
	}
	for _, command := range [][]string{{"cp", "-q", "-r", from + "tree", to}, {"sync", "-q", from + "tree/", to + "tree"}} {
		began := time.Now()
		code, out := s.run(s.command("", command...))
		t.Logf("paddlectl %q: exit %d after %v\n%s", command, code, time.Since(began).Round(time.Millisecond), out)
		says(command[0]+" of the tree", code, out, 8)
		if code, out := s.run(s.command("", "ls", to+"tree")); code != 0 || out != "a\nz\n" {
			t.Errorf("the tree has %q, exit %d, want the files that are whole", out, code)
		}
	}
	flip() // repair the bytes
	w.must("cp", "-q", "-r", from+"tree", to)
	w.must("cp", "-q", to+"tree/f", "got")
	got, err := os.ReadFile(filepath.Join(s.work, "got"))
	must(t, err)
	if string(got) != string(data) {
		t.Error("the file is not what it was")
	}
}
