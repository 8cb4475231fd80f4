package faults

import (
	"bytes"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// scene is a service behind a bad network, and a user.
type scene struct {
	*testing.T
	rng    *rand.Rand
	bin    string // the programs
	data   string // of the service
	home   string // of alice, on the disk of the service
	work   string // alice's own files
	config string
	server *exec.Cmd
	listen string
	serve  []string // more options of pfsd
	line   *line
}

// password is that of alice.
const password = "correct horse battery"

// newScene starts a service with these options.
func newScene(t *testing.T, serve ...string) *scene {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	dir := t.TempDir()
	s := &scene{T: t, rng: rand.New(rand.NewPCG(*seed, 0)), bin: bin, data: filepath.Join(dir, "data"),
		work: filepath.Join(dir, "work"), config: filepath.Join(dir, "config"), serve: serve}
	must(t, os.MkdirAll(s.work, 0o755))
	s.listen = freeAddress(t) // constant, since stores know the service by it
	s.startServer()
	t.Cleanup(s.stopServer)
	s.line = newLine(t, func() string { return s.listen })
	add := exec.Command(filepath.Join(s.bin, "pfsd"), "user", "add", "alice", "--data", s.data, "--password-stdin")
	add.Stdin = strings.NewReader(password + "\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("user add: %v\n%s", err, out)
	}
	if code, out := s.run(s.command(password+"\n", "login", "--endpoint", "https://"+s.line.Address(),
		"--username", "alice", "--password-stdin", "--datacenter", "local")); code != 0 {
		t.Fatalf("login: exit %d\n%s", code, out)
	}
	s.home = filepath.Join(s.data, "store", "home", "alice")
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// freeAddress returns a free address of loopback.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// startServer starts pfsd, on the same address as before, and waits until it listens. It listens
// once its stores have answered, or have not for their timeouts.
func (s *scene) startServer() {
	s.Helper()
	log, err := os.OpenFile(filepath.Join(filepath.Dir(s.data), "pfsd.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	must(s.T, err)
	defer log.Close()
	s.server = exec.Command(filepath.Join(s.bin, "pfsd"), append([]string{"serve", "--data", s.data, "--listen", s.listen}, s.serve...)...)
	s.server.Stderr = log
	s.server.Stdout = log
	must(s.T, s.server.Start())
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		b, _ := os.ReadFile(log.Name())
		if bytes.Contains(b, []byte("listening on https://")) {
			return
		}
	}
	b, _ := os.ReadFile(log.Name())
	s.Fatalf("pfsd does not listen:\n%s", b)
}

// stopServer stops pfsd cleanly, so that no store waits for a dead client.
func (s *scene) stopServer() {
	_ = s.server.Process.Signal(syscall.SIGTERM)
	_ = s.server.Wait()
}

// command returns a paddlectl with these arguments.
func (s *scene) command(stdin string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, "paddlectl"), args...)
	c.Env = append(os.Environ(), "PADDLE_CONFIG="+s.config)
	c.Stdin = strings.NewReader(stdin)
	c.Dir = s.work
	return c
}

func (s *scene) run(c *exec.Cmd) (int, string) {
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return exitCode(err), out.String()
}

func exitCode(err error) int {
	if e, ok := err.(*exec.ExitError); ok {
		return e.ExitCode()
	}
	if err != nil {
		return -2
	}
	return 0
}

func (s *scene) random(n int) []byte {
	p := make([]byte, n)
	var key [32]byte
	for i := range key {
		key[i] = byte(s.rng.Uint32())
	}
	_, _ = rand.NewChaCha8(key).Read(p)
	return p
}

// killServer kills pfsd as a power failure would.
func (s *scene) killServer() {
	_ = s.server.Process.Kill()
	_ = s.server.Wait()
}

// restartServer kills pfsd, and starts it again.
func (s *scene) restartServer(*exec.Cmd) {
	s.killServer()
	s.startServer()
}

// local writes a local file of alice's.
func (s *scene) local(name string, size int) []byte {
	s.Helper()
	data := s.random(size)
	must(s.T, os.WriteFile(filepath.Join(s.work, name), data, 0o600))
	return data
}

// makeHome makes alice's home, as her first change does, with a directory d.
func (s *scene) makeHome() {
	s.Helper()
	if code, out := s.run(s.command("", "mkdir", "/pfs/local/home/alice/d")); code != 0 {
		s.Fatalf("mkdir: exit %d\n%s", code, out)
	}
}

// copying is a running paddlectl.
type copying struct {
	*exec.Cmd
	out   bytes.Buffer
	ended chan int
}

// begin starts a paddlectl.
func (s *scene) begin(args ...string) *copying {
	s.Helper()
	c := &copying{Cmd: s.command("", args...), ended: make(chan int, 1)}
	c.Stdout, c.Stderr = &c.out, &c.out
	must(s.T, c.Start())
	go func() { c.ended <- exitCode(c.Wait()) }()
	return c
}
