package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/mounting"
	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"pfs-agent": main}) }

// agent is a running mount.
type agent struct {
	dir, store string
	process    *exec.Cmd
	procs      string // of a control group, or empty
	metrics    string // the URL of its metrics
	ended      chan error
}

// mount mounts a new store with files. They are old enough to be cached.
func mount(t *testing.T, files map[string]string, flags ...string) *agent {
	t.Helper()
	return mountIn(t, "", files, flags...)
}

// mountIn is mount in the control group with that list of processes.
func mountIn(t *testing.T, procs string, files map[string]string, flags ...string) *agent {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		t.Skip("it needs FUSE, and root")
	}
	t.Parallel()
	a := &agent{dir: t.TempDir(), store: t.TempDir(), procs: procs}
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
	ended := make(chan error, 1) // a may be started again
	a.ended = ended
	args = append(args, a.dir)
	a.process = exec.Command("pfs-agent", args...)
	if a.procs != "" {
		a.process = exec.Command("sh", append([]string{"-c", `echo $$ >"$0" && exec pfs-agent "$@"`, a.procs}, args...)...)
	}
	said, err := a.process.StderrPipe()
	if err == nil {
		err = a.process.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	process := a.process
	t.Cleanup(func() {
		syscall.Unmount(a.dir, syscall.MNT_DETACH) // else the server goes on without a broker
		process.Process.Kill()
		<-ended
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
		err := process.Wait()
		t.Logf("the agent ended: %v\n%s", err, &text)
		ended <- err
		close(ended)
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
	one, two, log := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "log")
	files := map[string]string{"a": strings.Repeat("a", 1<<20)}
	for _, name := range "bcdefghijk" {
		files[string(name)] = string(name)
	}
	flags := []string{"--read-only", "--open-mode", "no-open", "--cache-dir", one, "--cache-dir", two, "--cache-size", "1G", "--access-log", log}
	a := mount(t, files, flags...)
	check := func(wants ...string) {
		t.Helper()
		for _, name := range slices.Sorted(maps.Keys(files)) { // the large file first, which is then not read ahead
			a.read(t, name, files[name])
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
	check(`pfs_mount_cache_read_bytes_total{source="store"} 1.048`, "go_goroutines ", "process_resident_memory_bytes ", "pfs_mount_replacements_total 0\n",
		`pfs_mount_cache_limit_bytes{dir="`+one+`"} 5.36870912e+08`, `pfs_mount_cache_limit_bytes{dir="`+two+`"} 5.36870912e+08`)
	check(`pfs_mount_requests_total{operation="lookup",result="ok"} `, `pfs_mount_request_seconds_count{operation="read"} `, `pfs_mount_request_bytes_total{operation="read"} 1.048`)
	text, err := os.ReadFile(log)
	if err != nil || !regexp.MustCompile(`(?m)^\S+Z lookup /a 0 0\.\d{6} ok\n(.*\n)*\S+Z read /a \d{5,7} 0\.\d{6} ok$`).Match(text) {
		t.Errorf("%v\n%s", err, text)
	}
	os.Lstat(filepath.Join(a.dir, "no such\nfile"))
	if text, _ := os.ReadFile(log); !strings.Contains(string(text), ` lookup "/no such\nfile" 0 0.000`) || !strings.Contains(string(text), " ENOENT\n") {
		t.Errorf("a missing file:\n%s", text)
	}
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	a.process.Process.Signal(syscall.SIGHUP)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(log); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	a.stop(t)
	a.start(t, flags...)
	check(`pfs_mount_cache_read_bytes_total{source="disk"} 1.048586e+06`, "pfs_mount_cache_hit_ratio 1\n")
	if code, _ := a.get(t, "/x"); code != http.StatusNotFound {
		t.Errorf("another path: %d", code)
	}
}

// TestPendingMetrics checks the figures of what is not on the store yet.
func TestPendingMetrics(t *testing.T) {
	handler, _ := metrics(fuse.Options{Pending: func() any { return mounting.Pending{Files: 2, Bytes: 300} }})
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{"pfs_mount_pending_files 2\n", "pfs_mount_pending_bytes 300\n"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in\n%s", want, w.Body)
		}
	}
}

// run runs a command, and returns its exit code and what it printed.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command("pfs-agent", args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestWarm(t *testing.T) {
	const mib = 1 << 20
	files := map[string]string{"d/a": strings.Repeat("a", 9*mib), "d/b": "b", "d/e/c": "c", "empty": "", "z/big": strings.Repeat("z", 5*mib), "z/small": "z"}
	a := mount(t, files, "--read-only", "--cache-dir", t.TempDir(), "--cache-size", "12M")
	fetched := func() int64 {
		t.Helper()
		return int64(a.status(t).Cache.(map[string]any)["fetched_bytes"].(float64))
	}
	code, out, errs := run(t, "warm", "--json", filepath.Join(a.dir, "d"), filepath.Join(a.dir, "empty"))
	if code != 0 || !strings.HasPrefix(out, `{"event":"summary","files":4,"bytes":9437186,"left_out":0,"failed":0,`) {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if n := fetched(); n != 9*mib+2 {
		t.Errorf("%d bytes were fetched", n)
	}
	code, out, _ = run(t, "warm", filepath.Join(a.dir, "d"))
	if code != 0 || out != "3 files are cached (9.0 MiB); 0 do not fit, 0 failed\n" || fetched() != 9*mib+2 {
		t.Errorf("again: %d %s", code, out)
	}
	a.read(t, "d/a", files["d/a"])
	if s := a.status(t).Cache.(map[string]any); s["missed_bytes"].(float64) != 0 || s["passed_bytes"].(float64) != 0 {
		t.Errorf("a warm file was read from the store: %v", s)
	}

	for _, tt := range []struct {
		code      int
		args      []string
		out, errs string
	}{
		{8, []string{"--json", a.dir}, `"event":"failed","path":"` + a.dir + `/z/big","error":`, "/z/big: no space left: it does not fit: the cache of 12 MiB is full"},
		{3, []string{filepath.Join(a.dir, "none")}, "", "none: no such file"},
		{8, []string{filepath.Join(a.dir, "none"), filepath.Join(a.dir, "d")}, "3 files", "none: no such file"},
		{1, []string{filepath.Join(a.store, "d/b")}, "", "it is not in a mount"},
		{2, nil, "", "PATH... is needed"},
		{2, []string{"--epochs", "-", "x", "y"}, "", "takes one PATH"},
		{3, []string{"--epochs", "/none"}, "", "/none"},
	} {
		code, out, errs := run(t, append([]string{"warm"}, tt.args...)...)
		if code != tt.code || !strings.Contains(out, tt.out) || !strings.Contains(errs, tt.errs) {
			t.Errorf("%q: %d\n%s\n%s\nwant %d, %q, %q", tt.args, code, out, errs, tt.code, tt.out, tt.errs)
		}
	}
}

// The order of a training is fetched ahead only by half of the cache.
func TestWarmEpochs(t *testing.T) {
	const mib = 1 << 20
	files, order := map[string]string{}, ""
	for _, name := range "abcdefgh" {
		files[string(name)] = strings.Repeat(string(name), 3*mib)
		order += string(name) + "\n"
	}
	a := mount(t, files, "--read-only", "--cache-dir", t.TempDir(), "--cache-size", "16M")
	list := filepath.Join(t.TempDir(), "order")
	if err := os.WriteFile(list, []byte(order+order), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("pfs-agent", "warm", "--epochs", list, a.dir)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	unread := func() float64 { return a.status(t).Cache.(map[string]any)["unread_bytes"].(float64) }
	for end := time.Now().Add(20 * time.Second); unread() < 6*mib && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond) // it would go on now
	if n := unread(); n != 6*mib {
		t.Errorf("%v bytes are fetched ahead, of a cache of 16 MiB", n)
	}
	for range 2 {
		for _, name := range "abcdefgh" {
			a.read(t, string(name), files[string(name)])
		}
	}
	ended := make(chan error)
	go func() { ended <- cmd.Wait() }()
	for running := true; running; { // what was fetched ahead of these reads is read now
		select {
		case err := <-ended:
			if running = false; err != nil || !strings.HasPrefix(said.String(), "16 files are cached") {
				t.Errorf("%v: %s", err, &said)
			}
		case <-time.After(20 * time.Millisecond):
			for _, name := range "abcdefgh" {
				a.read(t, string(name), files[string(name)])
			}
		}
	}
}

func TestBench(t *testing.T) {
	for name, flags := range map[string][]string{"changes": nil, "read-only": {"--read-only"}} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			a := mount(t, map[string]string{"d/large": strings.Repeat("x", 5<<20), "d/e/small": "y"}, append(flags, "--cache-dir", cache)...)
			code, out, errs := run(t, "bench", "--json", "--size", "8M", filepath.Join(a.dir, "d"))
			var results []struct {
				What, Where, Unit string
				Pass              int
				Value             float64
			}
			if err := json.Unmarshal([]byte(out), &results); code != 0 || err != nil || len(results) != 5*3*2 {
				t.Fatalf("%d, %v: %s\n%s", code, err, out, errs)
			}
			for _, r := range results {
				if r.Value <= 0 || r.Unit == "" {
					t.Errorf("%+v", r)
				}
			}
			if code, out, errs := run(t, "bench", "--size", "1M", filepath.Join(a.dir, "d")); code != 0 || !regexp.MustCompile(`(?m)^sequential, MB/s( +[0-9.]+){6}  (-|\d+ %)$`).MatchString(out) {
				t.Errorf("%d %s %s", code, out, errs)
			}
			for dir, want := range map[string]string{filepath.Join(a.store, "d"): "e large", cache: "v"} {
				entries, err := os.ReadDir(dir)
				var names []string
				for _, e := range entries {
					names = append(names, e.Name())
				}
				if got := strings.Join(names, " "); err != nil || !strings.HasPrefix(got, want) || strings.Contains(got, "bench") {
					t.Errorf("left in %s: %s, %v", dir, got, err)
				}
			}
		})
	}
	t.Run("no cache", func(t *testing.T) {
		a := mount(t, map[string]string{"a": "content"}, "--read-only")
		if code, out, errs := run(t, "bench", a.dir); code != 0 || !strings.Contains(errs, "the disk is not measured: the mount has no cache") {
			t.Errorf("%d %s %s", code, out, errs)
		}
	})
	if code, _, errs := run(t, "bench", t.TempDir()); code != 3 || !strings.Contains(errs, "is not in a mount") {
		t.Errorf("%d %s", code, errs)
	}
}

// TestWarmLinks warms a directory with a link to one of its files and a link to another directory.
func TestWarmLinks(t *testing.T) {
	a := mount(t, map[string]string{"d/a": "a", "e/b": "b"}, "--read-only", "--cache-dir", t.TempDir())
	for name, target := range map[string]string{"inside": "a", "outside": "../e"} {
		if err := os.Symlink(target, filepath.Join(a.store, "d", name)); err != nil {
			t.Fatal(err)
		}
	}
	code, _, errs := run(t, "warm", filepath.Join(a.dir, "d"))
	if code != 8 || strings.Contains(errs, "d/inside") || !regexp.MustCompile(`d/outside: .*a link that leads out of `).MatchString(errs) {
		t.Errorf("code %d: %s", code, errs)
	}
}

// TestUpgrade replaces the server of a mount, and of none.
func TestUpgrade(t *testing.T) {
	a := mount(t, map[string]string{"a": "content"})
	f, err := os.Open(filepath.Join(a.dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before := a.status(t)
	if code, out, errs := run(t, "upgrade", a.dir); code != 0 || out != "1 mounts have a new server\n" || errs != "" {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if now := a.status(t); now.ServerPID == before.ServerPID || now.BrokerPID != before.BrokerPID || now.Replacements != 1 {
		t.Errorf("%+v, before %+v", now, before)
	}
	if got, err := io.ReadAll(f); string(got) != "content" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	f.Close()
	before = a.status(t)
	if err := os.Rename(a.store, a.store+".away"); err != nil {
		t.Fatal(err)
	}
	code, out, errs := run(t, "upgrade", a.dir)
	if code != 6 || out != "0 mounts have a new server\n" || !strings.Contains(errs, "the old one goes on") {
		t.Errorf("without the store: %d %s %s", code, out, errs)
	}
	if err := os.Rename(a.store+".away", a.store); err != nil {
		t.Fatal(err)
	}
	if now := a.status(t); now.ServerPID != before.ServerPID {
		t.Errorf("%+v, before %+v", now, before)
	}
	if code, _, errs := run(t, "upgrade", t.TempDir()); code != 3 || !strings.Contains(errs, "nothing is mounted") {
		t.Errorf("no mount: %d %s", code, errs)
	}
}

// TestWarmManifest fetches the shards of a manifest, and nothing else that is beside it.
func TestWarmManifest(t *testing.T) {
	m := &manifest.Manifest{Format: manifest.Format, Version: manifest.Version, Name: "birds", Payload: "raw", Of: "count", Source: "lines", Inputs: []manifest.Input{}, Options: []string{}}
	files := map[string]string{"other": strings.Repeat("o", 1<<20)}
	for i := range 2 {
		s := manifest.Shard{Name: fmt.Sprintf("birds-%05d-of-00002", i), Bytes: 1000, Digest: "blake3:" + strings.Repeat("0", 64)}
		m.Shards, files[s.Name] = append(m.Shards, s), strings.Repeat("s", 1000)
	}
	m.Sum()
	text, err := manifest.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	name := manifest.FileName("birds")
	files[name] = string(text)
	a := mount(t, files, "--read-only", "--cache-dir", t.TempDir(), "--cache-size", "12M")
	if code, out, errs := run(t, "warm", filepath.Join(a.dir, name)); code != 0 || out != "2 files are cached (2.0 KiB); 0 do not fit, 0 failed\n" {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if err := os.Remove(filepath.Join(a.store, m.Shards[1].Name)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // fuse.DefaultTimeout
	if code, _, errs := run(t, "warm", filepath.Join(a.dir, name)); code != 8 || !strings.Contains(errs, m.Shards[1].Name+": no such file") {
		t.Errorf("without a shard: %d %s", code, errs)
	}
}
