package python_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/relay"
)

// service is a running pfsd.
type service struct {
	program, data, listen string
	endpoint, fingerprint string
	cmd                   *exec.Cmd
}

// start starts pfsd and waits until it listens.
func (s *service) start(t *testing.T) {
	t.Helper()
	s.cmd = exec.Command(s.program, "serve", "--data", s.data, "--listen", s.listen)
	log, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fingerprint := regexp.MustCompile("[0-9a-f]{64}")
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if f := fingerprint.FindString(lines.Text()); f != "" {
			s.fingerprint = f
		}
		if _, address, ok := strings.Cut(lines.Text(), "listening on "); ok {
			s.endpoint, s.listen = address, strings.TrimPrefix(address, "https://")
			go io.Copy(io.Discard, log)
			return
		}
	}
	t.Fatal("pfsd does not listen")
}

func (s *service) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

// distant returns the path of a configuration like that, of a service whose answers take the delay in each direction.
func (s *service) distant(t *testing.T, config string, delay time.Duration) string {
	t.Helper()
	address := relay.Distant(t, func() string { return s.listen }, delay).Address()
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), s.listen, address, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// newService starts a pfsd with the account alice, and returns the path of her configuration.
func newService(t *testing.T) (s *service, config string) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "pfsd") // its syncs cost nothing there
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s = &service{program: filepath.Join(dir, "pfsd"), data: filepath.Join(dir, "data"), listen: "127.0.0.1:0"}
	if out, err := exec.Command("go", "build", "-o", s.program, "../cmd/pfsd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	add := exec.Command(s.program, "user", "add", "alice", "--data", s.data, "--password-stdin")
	add.Stdin = strings.NewReader("correct horse battery\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.start(t)
	t.Cleanup(s.stop)
	config = filepath.Join(dir, "config")
	text := "datacenters:\n- name: local\n  username: alice\n  password: correct horse battery\n  endpoint: " + s.endpoint +
		"\n  fingerprint: " + s.fingerprint + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, config
}

// TestFileSystem runs the tests of PfsFileSystem, those of fsspec among them, against a pfsd.
func TestFileSystem(t *testing.T) {
	open(t, ".")
	_, config := newService(t)
	python(t, []string{"PADDLE_CONFIG=" + config}, venv(t, "test"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "service_tests")
}

// TestRestarts kills the service again and again while a program moves files and reads a dataset: nothing fails, and
// no byte is wrong.
func TestRestarts(t *testing.T) {
	open(t, ".")
	s, config := newService(t)
	cmd := exec.Command(venv(t, "test"), "service_tests/restarts.py", t.TempDir(), "6")
	cmd.Env = append(os.Environ(), "PADDLE_CONFIG="+config, "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for kills := 0; ; kills++ {
		select {
		case err := <-ended:
			if err != nil || kills < 3 {
				t.Fatalf("after %d kills: %v\n%s", kills, err, out.String())
			}
			t.Logf("%s rounds, %d kills", strings.TrimSpace(out.String()), kills)
			return
		case <-time.After(time.Second):
		}
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.start(t)
	}
}

// TestBatches compares batches of random records with one range request a record, at a service 5 ms away: the numbers
// of requests, and the speed. The last figures are in docs/python.md.
func TestBatches(t *testing.T) {
	open(t, ".")
	s, near := newService(t)
	far := s.distant(t, near, 2500*time.Microsecond)
	least := "10"
	if testing.Short() {
		least = "2" // what shares the processors slows the batches, and not one request that waits for its answer
	}
	out := program(t, []string{"PADDLE_CONFIG=" + near, "FAR_CONFIG=" + far, "LEAST=" + least}, "service_tests/batches.py")
	t.Log(strings.TrimSpace(out))
}

// TestServiceAway kills the service while a program reads from it. The program waits, and then gets a clear error;
// when the service is back, it reads on.
func TestServiceAway(t *testing.T) {
	open(t, ".")
	s, config := newService(t)
	cmd := exec.Command(venv(t, "test"), "service_tests/away.py")
	cmd.Env = append(os.Environ(), "PADDLE_CONFIG="+config, "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			_ = cmd.Wait()
			t.Fatalf("%q instead of %q\n%s", lines.Text(), want, stderr.String())
		}
	}
	next("reading")
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	fmt.Fprintln(in, "killed")
	next("gone")
	s.start(t)
	fmt.Fprintln(in, "started")
	next("read")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
}

// program runs a Python program of this directory, and returns its output.
func program(t *testing.T, env []string, path string, args ...string) string {
	t.Helper()
	cmd := exec.Command(venv(t, "test"), append([]string{path}, args...)...)
	cmd.Env = append(os.Environ(), append(env, "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1")...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", path, err, out, stderr.String())
	}
	return string(out)
}
