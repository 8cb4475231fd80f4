package faults

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
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

// TestCacheIsPrivate: other users of the machine cannot read what is cached.
func TestCacheIsPrivate(t *testing.T) {
	needMount(t)
	t.Parallel()
	s := newScene(t)
	s.makeHome()
	must(t, os.WriteFile(filepath.Join(s.home, "secret"), bytes.Repeat([]byte("secret"), 1<<20), 0o644))
	time.Sleep(2100 * time.Millisecond) // younger files are not cached
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	cache := filepath.Join(dir, "cache")
	m := s.mount("--root", "/pfs/local/home/alice", "--read-only", "--cache-dir", cache, "--cache-size", "1G")
	if b, err := os.ReadFile(filepath.Join(m.dir, "secret")); len(b) != 6<<20 || err != nil {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	for _, where := range []string{cache, m.dir} {
		c := exec.Command("find", where, "-type", "f")
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := c.Output(); len(out) > 0 || err == nil {
			t.Errorf("another user finds in %s, %v:\n%s", where, err, out)
		}
	}
	if out, err := exec.Command("find", cache, "-type", "f", "-size", "+5M").Output(); len(out) == 0 || err != nil {
		t.Errorf("the file is not in the cache: %q, %v", out, err)
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
