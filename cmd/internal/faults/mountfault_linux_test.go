package faults

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/internal/relay"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestMountWithoutService: the service dies in the middle of a read, a write and a listing, and comes
// back. Everything waits for it, and nothing is remounted.
func TestMountWithoutService(t *testing.T) {
	needMount(t)
	t.Parallel()
	s := newScene(t)
	s.makeHome()
	down := s.random(40 << 20)
	must(t, os.WriteFile(filepath.Join(s.home, "down"), down, 0o644))
	for i := range 1200 {
		must(t, os.WriteFile(filepath.Join(s.home, fmt.Sprintf("f%d", i)), nil, 0o644))
	}
	m := s.mount("--root", "/pfs/local/home/alice", "--cache-size", "0")
	s.line.delay.Store(int64(2 * time.Millisecond))
	defer s.line.delay.Store(0)
	up := s.random(8 << 20)
	before := s.line.passed()
	var running sync.WaitGroup
	running.Go(func() {
		if got, err := os.ReadFile(filepath.Join(m.dir, "down")); err != nil || !bytes.Equal(got, down) {
			t.Errorf("read: %d bytes, %v", len(got), err)
		}
	})
	running.Go(func() {
		for range 10 {
			if entries, err := os.ReadDir(m.dir); err != nil || len(entries) < 1201 {
				t.Errorf("list: %d entries, %v", len(entries), err)
			}
		}
	})
	for s.line.passed()-before < 10<<20 {
		time.Sleep(poll)
	}
	s.killServer()
	running.Go(func() {
		if err := os.WriteFile(filepath.Join(m.dir, "up"), up, 0o644); err != nil {
			t.Errorf("write: %v", err)
		}
	})
	running.Go(func() {
		if _, err := os.Stat(filepath.Join(m.dir, "none")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("stat of what is not there: %v", err)
		}
	})
	time.Sleep(time.Second)
	s.startServer()
	running.Wait()
	if got, err := os.ReadFile(filepath.Join(s.home, "up")); err != nil || !bytes.Equal(got, up) {
		t.Errorf("written: %d bytes, %v", len(got), err)
	}
}

// TestMountOutlivesToken uses a mount for longer than the token of the login is valid.
func TestMountOutlivesToken(t *testing.T) {
	testbed.Long(t)
	needMount(t)
	t.Parallel()
	s := newScene(t, "--access-life", "1s")
	m := s.mount("--root", "/pfs/local/home/alice")
	for end := time.Now().Add(graceOfTokens); time.Now().Before(end); time.Sleep(5 * time.Second) {
		want := fmt.Sprint(time.Now())
		must(t, os.WriteFile(filepath.Join(m.dir, "f"), []byte(want), 0o644))
		if got, err := os.ReadFile(filepath.Join(s.home, "f")); string(got) != want || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// TestMountEnds sends SIGTERM to the server of a mount while a program writes. The program gets an
// error, the store has the bytes that were written before, and the mount point is free.
func TestMountEnds(t *testing.T) {
	needMount(t)
	t.Parallel()
	s := newScene(t)
	m := s.mount("--root", "/pfs/local/home/alice")
	f, err := os.Create(filepath.Join(m.dir, "f"))
	must(t, err)
	defer f.Close()
	var written bytes.Buffer
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			line := fmt.Sprintf("line %d\n", i)
			if _, err := io.WriteString(f, line); err != nil {
				ended <- err
				return
			}
			written.WriteString(line)
			if i == 20 {
				close(started)
			}
		}
	}()
	<-started
	must(t, syscall.Kill(m.status().ServerPID, syscall.SIGTERM))
	if err := <-ended; errors.Is(err, os.ErrNotExist) {
		t.Errorf("the writer got %v", err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(poll) {
		if code, _ := m.ctl("umount", m.dir); code == 3 { // nothing is mounted
			break
		}
		if time.Now().After(end) {
			t.Fatal("the mount has not ended within a minute")
		}
	}
	got, err := os.ReadFile(filepath.Join(s.home, "f"))
	if err != nil || !strings.HasPrefix(string(got), written.String()) {
		t.Errorf("%d bytes are on the store, %d were written, %v", len(got), written.Len(), err)
	}
	m.mount(m.args...)
}

// TestStagedAtEnd sends SIGTERM to the server of a mount of HDFS that has staged files. It uploads them, of open files too. If
// HDFS does not take them in time, the log names them, and the next mount uploads what was closed.
func TestStagedAtEnd(t *testing.T) {
	needMount(t)
	t.Parallel()
	c, python := testbed.HDFS(t), testbed.Posix(t).Python
	var silent atomic.Bool
	namenode := relay.New(t, func() string { return c.NameNodes[0] }, func(int, []byte) bool {
		for silent.Load() {
			time.Sleep(poll)
		}
		return true
	})
	root, cache := c.Scratch(t), t.TempDir()
	store := opened(t, backends.Spec{URL: "hdfs://" + c.NameNodes[0] + root + "?user=" + c.Superuser})
	const grace = 4 * time.Second
	m := newMount(t, []string{"XDG_CACHE_HOME=" + cache}, "--grace", grace.String(), "--store", "hdfs://"+namenode.Address()+root+"?user="+c.Superuser)
	status := func() fuse.Status {
		st, err := fuse.MountAt(m.dir)
		must(t, err)
		return st
	}
	// end ends the mount, and returns its log.
	end := func() string {
		t.Helper()
		st := status()
		start := time.Now()
		must(t, syscall.Kill(st.ServerPID, syscall.SIGTERM))
		for syscall.Kill(st.ServerPID, 0) == nil || syscall.Kill(st.BrokerPID, 0) == nil {
			if time.Sleep(poll); time.Since(start) > grace+15*time.Second {
				t.Fatal("the processes of the mount do not end")
			}
		}
		if took := time.Since(start); took > grace+3*time.Second {
			t.Errorf("the end took %v", took)
		}
		logs, err := filepath.Glob(cache + "/pfs/mount-*.log")
		must(t, err)
		text, err := os.ReadFile(logs[0])
		must(t, err)
		return string(text)
	}
	// stage starts a program that writes a file that is staged, and that closes it when closeFile is called, which returns the
	// errno. A file of this process would seem closed to FUSE whenever another test starts a program.
	stage := func(name string) (closeFile func() syscall.Errno) {
		t.Helper()
		c := exec.Command(python, "-c", `import os, sys
f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.pwrite(f, sys.argv[2].encode(), 1000)
print("written", flush=True)
sys.stdin.read()
try:
    os.close(f)
except OSError as e:
    sys.exit(e.errno)`, filepath.Join(m.dir, name), name)
		in, err := c.StdinPipe()
		must(t, err)
		out, err := c.StdoutPipe()
		must(t, err)
		must(t, c.Start())
		closeFile = sync.OnceValue(func() syscall.Errno {
			_ = in.Close()
			return syscall.Errno(exitCode(c.Wait()))
		})
		t.Cleanup(func() { closeFile() })
		if _, err := io.ReadFull(out, make([]byte, len("written\n"))); err != nil {
			t.Fatal(err)
		}
		return closeFile
	}
	content := func(name string) []byte { return append(make([]byte, 1000), name...) }
	pending := func() map[string]string {
		states := map[string]string{}
		text, err := json.Marshal(status().Pending)
		must(t, err)
		var p struct {
			List []struct{ Path, State, ID string }
		}
		must(t, json.Unmarshal(text, &p))
		for _, f := range p.List {
			states[f.Path] = f.State + " " + f.ID
		}
		return states
	}

	sent := stage("/sent")
	if log := end(); strings.Contains(log, "level=") {
		t.Errorf("the log of an end without trouble:\n%s", log)
	}
	sent()
	pfstest.WantFile(t, store, "/sent", content("/sent"))

	m.mount(m.args...)
	closed := stage("/closed")
	open := stage("/open")
	silent.Store(true)
	closing := make(chan syscall.Errno, 1)
	go func() { closing <- closed() }()
	for !strings.HasPrefix(pending()["/closed"], "pending ") {
		time.Sleep(poll)
	}
	log := end()
	for _, want := range []string{"path=/closed state=pending bytes=1007 ", "path=/open state=open bytes=1005 "} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %s:\n%s", want, log)
		}
	}
	if err := <-closing; err == 0 || err == syscall.ENOENT {
		t.Errorf("the close of a file that is not on the store: %v", err)
	}
	open()
	silent.Store(false)
	pfstest.WantFile(t, store, "/closed", nil)

	m.mount(m.args...)
	for limit := time.Now().Add(time.Minute); pending()["/closed"] != "" && time.Now().Before(limit); {
		time.Sleep(poll)
	}
	pfstest.WantFile(t, store, "/closed", content("/closed"))
	id, incomplete := strings.CutPrefix(pending()["/open"], "incomplete ")
	if code, out := m.ctl("mount", "flush", "--publish", id, m.dir); code != 0 || !incomplete {
		t.Errorf("publish: exit %d, %v\n%s", code, pending(), out)
	}
	pfstest.WantFile(t, store, "/open", content("/open"))
}

// TestMountsTogether: two mounts append to one file, and one shortens a file that the other reads.
func TestMountsTogether(t *testing.T) {
	needMount(t)
	t.Parallel()
	s := newScene(t)
	mounts := []*mounted{s.mount("--root", "/pfs/local/home/alice"), s.mount("--root", "/pfs/local/home/alice")}
	const lines = 100
	must(t, os.WriteFile(filepath.Join(mounts[0].dir, "log"), nil, 0o644))
	time.Sleep(1100 * time.Millisecond) // a mount sees after a second what another has made
	var writers sync.WaitGroup
	for k, m := range mounts {
		writers.Go(func() {
			f, err := os.OpenFile(filepath.Join(m.dir, "log"), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			for i := range lines {
				if _, err := fmt.Fprintf(f, "mount %d line %d\n", k, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	for _, m := range mounts {
		got, err := os.ReadFile(filepath.Join(m.dir, "log"))
		for k := range mounts {
			for i := range lines {
				if n := strings.Count(string(got), fmt.Sprintf("mount %d line %d\n", k, i)); n != 1 || err != nil {
					t.Fatalf("line %d of mount %d is there %d times, %v", i, k, n, err)
				}
			}
		}
	}

	data := s.random(3 << 20)
	must(t, os.WriteFile(filepath.Join(mounts[0].dir, "f"), data, 0o644))
	time.Sleep(1100 * time.Millisecond)
	f, err := os.Open(filepath.Join(mounts[1].dir, "f"))
	must(t, err)
	defer f.Close()
	must(t, os.Truncate(filepath.Join(mounts[0].dir, "f"), 1<<20))
	got, err := io.ReadAll(f)
	if !bytes.HasPrefix(data, bytes.TrimRight(got, "\x00")) || err != nil && !errors.Is(err, syscall.ESTALE) {
		t.Errorf("%d bytes of digest %.8x, %v", len(got), sha256.Sum256(got), err)
	}
}

// TestMountByHelper mounts as a user who is not root, whom fusermount3 helps.
func TestMountByHelper(t *testing.T) {
	needMount(t)
	testbed.Posix(t) // has fusermount3
	t.Parallel()
	device, err := os.Stat("/dev/fuse")
	must(t, err)
	if device.Mode().Perm()&0o006 != 0o006 { // udev opens it to all users, but a container may have none
		must(t, os.Chmod("/dev/fuse", 0o666))
		t.Cleanup(func() { must(t, os.Chmod("/dev/fuse", device.Mode().Perm())) })
	}
	bin, err := programs()
	must(t, err)
	must(t, os.Chmod(bin, 0o755))
	top := t.TempDir()
	must(t, os.Chmod(filepath.Dir(top), 0o755))
	dir, store := filepath.Join(top, "m"), filepath.Join(top, "store")
	for _, name := range []string{dir, store, filepath.Join(top, "cache")} {
		must(t, os.Mkdir(name, 0o700))
		must(t, os.Chown(name, nobody, nobody))
	}
	// as runs a program as the user.
	as := func(path, name string, args ...string) (int, string) {
		c := exec.Command(name, args...)
		c.Env = []string{"PATH=" + path, "HOME=" + top, "XDG_CACHE_HOME=" + filepath.Join(top, "cache")}
		c.Dir, c.SysProcAttr = "/", asNobody()
		out, err := c.CombinedOutput()
		return exitCode(err), string(out)
	}
	paddlectl, path := filepath.Join(bin, "paddlectl"), os.Getenv("PATH")
	must(t, os.WriteFile(filepath.Join(store, "old"), []byte("old"), 0o644))
	const missing = "install the package fuse3"
	if code, out := as("/nonexistent", paddlectl, "mount", "--store", "file://"+store, dir); code != 1 || !strings.Contains(out, dir) || !strings.Contains(out, missing) {
		t.Errorf("mount without fusermount3: exit %d\n%s", code, out)
	}
	if code, out := as(path, paddlectl, "mount", "--store", "file://"+store, dir); code != 0 {
		t.Fatalf("mount: exit %d\n%s", code, out)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }) // an error if all went well
	if code, out := as(path, "sh", "-c", `cat "$0/old"; for i in 1 2 3; do echo $i >>"$0/new" || exit; done; cat "$0/new"; mv "$0/new" "$0/newer"; ls "$0"`, dir); code != 0 || out != "old1\n2\n3\nnewer\nold\n" {
		t.Errorf("exit %d: %s", code, out)
	}
	if got, err := os.ReadFile(filepath.Join(store, "newer")); string(got) != "1\n2\n3\n" || err != nil {
		t.Errorf("on the store: %q, %v", got, err)
	}
	if names, err := os.ReadDir(dir); !errors.Is(err, os.ErrPermission) {
		t.Errorf("root finds %v, %v", names, err)
	}
	var all []fuse.Status
	_, out := as(path, paddlectl, "mount", "status", "--json")
	must(t, json.Unmarshal([]byte(out), &all))
	at := slices.IndexFunc(all, func(m fuse.Status) bool { return m.MountPoint == dir })
	if at < 0 || all[at].State != "serving" {
		t.Fatal(out)
	}
	must(t, syscall.Kill(all[at].ServerPID, syscall.SIGKILL)) // the broker needs no fusermount3 to replace it
	if code, out := as(path, "cat", filepath.Join(dir, "newer")); code != 0 || out != "1\n2\n3\n" {
		t.Errorf("after a kill: exit %d\n%s", code, out)
	}
	if code, out := as("/nonexistent", paddlectl, "umount", dir); code != 1 || !strings.Contains(out, dir) || !strings.Contains(out, missing) {
		t.Errorf("umount without fusermount3: exit %d\n%s", code, out)
	}
	if code, out := as(path, paddlectl, "umount", dir); code != 0 {
		t.Errorf("umount: exit %d\n%s", code, out)
	}
	if names, err := os.ReadDir(dir); len(names) > 0 || err != nil {
		t.Errorf("below the mount there is %v, %v", names, err)
	}
}

// nobody is a user and a group without rights.
const nobody = 65534

func asNobody() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

// TestCacheIsPrivate: other users of the machine can neither read nor list what is cached, staged or on its way to the store.
func TestCacheIsPrivate(t *testing.T) {
	needMount(t)
	t.Parallel()
	s := newScene(t)
	s.makeHome()
	must(t, os.WriteFile(filepath.Join(s.home, "secret"), bytes.Repeat([]byte("secret"), 1<<20), 0o644))
	time.Sleep(2100 * time.Millisecond) // younger files are not cached
	cache := t.TempDir()
	for _, dir := range []string{filepath.Dir(cache), cache} { // only what the mounts make in it is private
		must(t, os.Chmod(dir, 0o755))
	}
	cached := s.mount("--root", "/pfs/local/home/alice", "--read-only", "--cache-dir", cache, "--cache-size", "1G")
	if b, err := os.ReadFile(filepath.Join(cached.dir, "secret")); len(b) != 6<<20 || err != nil {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	c := testbed.HDFS(t)
	root := c.Scratch(t)
	staged := newMount(t, nil, "--cache-dir", cache, "--store", "hdfs://"+c.NameNodes[0]+root+"?user="+c.Superuser)
	f, err := os.Create(filepath.Join(staged.dir, "secret"))
	must(t, err)
	_, err = f.WriteAt([]byte("secret"), 1000)
	must(t, err)
	must(t, opened(t, backends.Spec{URL: "hdfs://" + c.NameNodes[0] + root + "?user=" + c.Superuser}).Remove(t.Context(), "/secret"))
	if err := f.Close(); !errors.Is(err, syscall.ESTALE) { // so it stays staged
		t.Fatal(err)
	}
	behind := s.mount("--root", "/pfs/local/home/alice", "--cache-dir", cache)
	written, err := os.Create(filepath.Join(behind.dir, "written"))
	must(t, err)
	defer written.Close()
	for range 3 {
		_, err = written.Write(make([]byte, 1<<20))
		must(t, err)
	}
	fds := fmt.Sprintf("/proc/%d/fd", behind.status().ServerPID)
	find := func(as *syscall.SysProcAttr, args ...string) (string, error) {
		c := exec.Command("find", args...)
		c.SysProcAttr = as
		out, err := c.Output()
		return string(out), err
	}
	if out, err := find(nil, fds, "-lname", cache+"/unsent-*"); out == "" { // the tail of the file has no name
		t.Errorf("nothing is on its way to the store, %v", err)
	}
	for what, args := range map[string][]string{
		"cached": {cache, "-name", "*.data", "-size", "+5M", "-path", "*/v2-0/*"}, "staged": {cache, "-name", "*.data", "-path", "*/staging-0-*"},
		"the record of what is staged": {cache, "-name", "*.json", "-path", "*/staging-0-*"},
	} {
		if out, err := find(nil, args...); strings.Count(out, "\n") != 1 || err != nil {
			t.Errorf("%s: %q, %v", what, out, err)
		}
	}
	for _, where := range [][]string{{cache, "-mindepth", "2"}, {cached.dir, "-mindepth", "1"}, {staged.dir, "-mindepth", "1"}, {fds, "-mindepth", "1"}} {
		if out, err := find(asNobody(), where...); len(out) > 0 || err == nil {
			t.Errorf("another user finds in %s, %v:\n%s", where, err, out)
		}
	}
	if out, err := find(nil, cache, "!", "-path", cache, "-perm", "/077"); out != "" || err != nil {
		t.Errorf("these permit something to others: %v\n%s", err, out)
	}
}

// TestMountOutOfMemory lets the kernel kill the server for want of memory. Readers notice a pause.
func TestMountOutOfMemory(t *testing.T) {
	needMount(t)
	t.Parallel()
	group := fmt.Sprintf("/sys/fs/cgroup/pfs-test-%d", os.Getpid())
	limit := "memory.max"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.procs"); err != nil {
		group, limit = fmt.Sprintf("/sys/fs/cgroup/memory/pfs-test-%d", os.Getpid()), "memory.limit_in_bytes"
	}
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skip("no control group can be made here: ", err)
	}
	t.Cleanup(func() { os.Remove(group) })
	if err := os.WriteFile(filepath.Join(group, limit), []byte("8388608"), 0o644); err != nil {
		t.Skip("no control group can be limited here: ", err)
	}
	s := newScene(t)
	s.makeHome()
	want := s.random(64 << 20)
	must(t, os.WriteFile(filepath.Join(s.home, "f"), want, 0o644))
	m := s.mount("--root", "/pfs/local/home/alice", "--cache-size", "0")
	server := m.status().ServerPID
	must(t, os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(fmt.Sprint(server)), 0o644))
	if got, err := os.ReadFile(filepath.Join(m.dir, "f")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if now := m.status().ServerPID; now == server {
		t.Errorf("server %d has read 64 MiB with a limit of 8 MiB", server)
	}
}
