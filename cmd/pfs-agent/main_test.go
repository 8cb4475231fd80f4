package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/fuse"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"pfs-agent": main}) }

// agent is a running mount.
type agent struct {
	dir, store string
	process    *exec.Cmd
	metrics    string // the URL of its metrics
	ended      chan error
}

// mount mounts a new store with files. They are old enough to be cached.
func mount(t *testing.T, files map[string]string, flags ...string) *agent {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		t.Skip("it needs FUSE, and root")
	}
	t.Parallel()
	a := &agent{dir: t.TempDir(), store: t.TempDir()}
	for name, content := range files {
		name = filepath.Join(a.store, name)
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil {
			err = os.WriteFile(name, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(2 * time.Second) // cachefs.Options.Settle
	a.start(t, flags...)
	return a
}

// start starts the agent, and waits until the mount is ready.
func (a *agent) start(t *testing.T, flags ...string) {
	t.Helper()
	args := append([]string{"mount", "--foreground", "--store", "file://" + a.store, "--metrics", "127.0.0.1:0"}, flags...)
	a.ended = make(chan error, 1)
	a.process = exec.Command("pfs-agent", append(args, a.dir)...)
	said, err := a.process.StderrPipe()
	if err == nil {
		err = a.process.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.process.Process.Kill()
		<-a.ended
		syscall.Unmount(a.dir, syscall.MNT_DETACH)
	})
	address := make(chan string, 1)
	go func() {
		var text strings.Builder
		for lines := bufio.NewScanner(said); lines.Scan(); {
			text.WriteString(lines.Text() + "\n")
			if m := regexp.MustCompile(`"metrics are served" address=(.*)`).FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
		err := a.process.Wait()
		t.Logf("the agent ended: %v\n%s", err, &text)
		a.ended <- err
		close(a.ended)
	}()
	select {
	case at := <-address:
		a.metrics = "http://" + at
	case err := <-a.ended:
		t.Fatal(err)
	}
	for code := 0; code != http.StatusOK; time.Sleep(5 * time.Millisecond) {
		select {
		case err := <-a.ended:
			t.Fatal(err)
		default:
		}
		code, _ = a.get(t, "/healthz")
	}
}

// get returns an answer of the agent's HTTP server.
func (a *agent) get(t *testing.T, path string) (int, string) {
	t.Helper()
	r, err := http.Get(a.metrics + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

// status returns the status of the mount.
func (a *agent) status(t *testing.T) fuse.Status {
	t.Helper()
	out, err := exec.Command("pfs-agent", "status", "--json").Output()
	var all []fuse.Status
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.MountPoint == a.dir {
			return m
		}
	}
	t.Fatalf("%s is not among the mounts: %s", a.dir, out)
	return fuse.Status{}
}

// read reads a file of the mount.
func (a *agent) read(t *testing.T, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(filepath.Join(a.dir, name)); err != nil || string(got) != want {
		t.Errorf("%s: %.20q, %v; want %.20q", name, got, err, want)
	}
}

// stop ends the mount.
func (a *agent) stop(t *testing.T) {
	t.Helper()
	a.process.Process.Signal(syscall.SIGTERM)
	if err := <-a.ended; err != nil {
		t.Error(err)
	}
}

func TestMetrics(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	files := map[string]string{"a": strings.Repeat("a", 1<<20)}
	for _, name := range "bcdefghijk" {
		files[string(name)] = string(name)
	}
	flags := []string{"--read-only", "--open-mode", "no-open", "--cache-dir", one, "--cache-dir", two, "--cache-size", "1G"}
	a := mount(t, files, flags...)
	check := func(wants ...string) {
		t.Helper()
		for name, content := range files {
			a.read(t, name, content)
		}
		_, text := a.get(t, "/metrics")
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in\n%s", want, text)
			}
		}
		for _, dir := range []string{one, two} {
			if strings.Contains(text, `pfs_mount_cache_bytes{dir="`+dir+`"} 0`+"\n") {
				t.Errorf("nothing is cached in %s:\n%s", dir, text)
			}
		}
	}
	check(`pfs_mount_cache_read_bytes_total{source="store"} 1.048`, "go_goroutines ", "process_resident_memory_bytes ",
		`pfs_mount_cache_limit_bytes{dir="`+one+`"} 5.36870912e+08`, `pfs_mount_cache_limit_bytes{dir="`+two+`"} 5.36870912e+08`)
	a.stop(t)
	a.start(t, flags...)
	check(`pfs_mount_cache_read_bytes_total{source="disk"} 1.048586e+06`, "pfs_mount_cache_hit_ratio 1\n")
	if code, _ := a.get(t, "/x"); code != http.StatusNotFound {
		t.Errorf("another path: %d", code)
	}
}
