// Package faults holds the campaign of faults: the real programs, over TLS, with a
// network that cuts and damages, and processes that are killed at random moments.
// After every fault each file is whole and right, or absent; and the same command run
// again completes.
package faults

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	count = flag.Int("faults", 10, "number of faults to inject")
	seed  = flag.Uint64("seed", 0, "seed of the campaign; 0 takes one from the clock")
	long  = flag.Int64("long", 160, "MiB of the upload during which the access token expires")
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
	life   time.Duration // of access tokens
	line   *line
}

func TestFaults(t *testing.T) {
	s := newScene(t, 15*time.Minute)
	kinds := []func(*exec.Cmd){s.cut, s.damage, s.killServer, s.killClient, s.interruptClient}
	names := []string{"cut", "flip", "kill server", "kill client", "interrupt client"}
	done := map[string]int{}
	for i := range *count {
		k := i % len(kinds)
		direction := []string{"up", "down", "tree"}[s.rng.IntN(3)]
		s.round(i, direction, names[k], kinds[k])
		done[names[k]+" "+direction]++
		if t.Failed() {
			t.Fatalf("round %d (%s, %s), seed %d", i, names[k], direction, *seed)
		}
	}
	t.Logf("%d faults, seed %d, every file whole and right or absent: %v", *count, *seed, done)
}

func newScene(t *testing.T, life time.Duration) *scene {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	dir := t.TempDir()
	s := &scene{T: t, life: life, rng: rand.New(rand.NewPCG(*seed, 0)), bin: filepath.Join(dir, "bin"), data: filepath.Join(dir, "data"),
		work: filepath.Join(dir, "work"), config: filepath.Join(dir, "config")}
	build := exec.Command("go", "build", "-o", s.bin+"/", "github.com/paddlecloud/pfs/cmd/...")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	must(t, os.MkdirAll(s.work, 0o755))
	s.listen = "127.0.0.1:0"
	s.startServer()
	t.Cleanup(func() { _ = s.server.Process.Kill() })
	s.line = newLine(t, func() string { return s.listen })
	add := exec.Command(filepath.Join(s.bin, "pfsd"), "user", "add", "alice", "--data", s.data, "--password-stdin")
	add.Stdin = strings.NewReader("correct horse battery\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("user add: %v\n%s", err, out)
	}
	if code, out := s.run(s.command("correct horse battery\n", "login", "--endpoint", "https://"+s.line.Address(),
		"--username", "alice", "--password-stdin", "--datacenter", "local")); code != 0 {
		t.Fatalf("login: exit %d\n%s", code, out)
	}
	if code, out := s.run(s.command("", "mkdir", "/pfs/local/home/alice/d")); code != 0 {
		t.Fatalf("mkdir: exit %d\n%s", code, out)
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

// startServer starts pfsd, on the same address as before, and waits until it listens.
func (s *scene) startServer() {
	s.Helper()
	log, err := os.OpenFile(filepath.Join(filepath.Dir(s.data), "pfsd.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	must(s.T, err)
	defer log.Close()
	s.server = exec.Command(filepath.Join(s.bin, "pfsd"), "serve", "--data", s.data, "--listen", s.listen, "--access-life", s.life.String())
	s.server.Stderr = log
	s.server.Stdout = log
	must(s.T, s.server.Start())
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		b, _ := os.ReadFile(log.Name())
		if _, rest, ok := strings.Cut(string(b), "listening on https://"); ok && strings.ContainsAny(rest, "\r\n \"") {
			if s.line == nil { // later it is the same
				s.listen = rest[:strings.IndexAny(rest, "\r\n \"")]
			}
			return
		}
	}
	b, _ := os.ReadFile(log.Name())
	s.Fatalf("pfsd does not listen:\n%s", b)
}

// command is paddlectl with these arguments.
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

// round runs one copy, does one fault to it, looks, runs it again and looks again.
func (s *scene) round(i int, direction, name string, fault func(*exec.Cmd)) {
	args, want := s.prepare(i, direction)
	c := s.command("", args...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	must(s.T, c.Start())
	time.Sleep(time.Duration(s.rng.IntN(150)) * time.Millisecond)
	fault(c)
	code := exitCode(c.Wait())
	s.line.calm()
	s.check(want, false, "after the fault")
	s.Logf("round %d: %s %s: exit %d", i, direction, name, code)

	if code, out := s.run(s.command("", args...)); code != 0 {
		s.Errorf("round %d: %s %s: run again: exit %d\n%s", i, direction, name, code, out)
	}
	s.check(want, true, "after it was run again")
}

// content maps files on disk to what they may hold: the new content and, if there was
// one before, the old.
type content map[string][2][]byte

// prepare makes the files of a round and returns the command that copies them.
func (s *scene) prepare(i int, direction string) (args []string, want content) {
	want = content{}
	remote := "/pfs/local/home/alice/d/"
	switch direction {
	case "up", "down":
		name := fmt.Sprintf("%s%d", direction, i%3) // again and again: old versions are replaced
		from, to := filepath.Join(s.work, name), filepath.Join(s.home, "d", name)
		args = []string{"cp", "--bwlimit", "80M", name, remote + name}
		if direction == "down" {
			from, to = to, filepath.Join(s.work, "got-"+name)
			args = []string{"cp", "--bwlimit", "80M", remote + name, "got-" + name}
		}
		old, _ := os.ReadFile(to)
		p := s.random(4<<20 + s.rng.IntN(40<<20))
		must(s.T, os.WriteFile(from, p, 0o644))
		want[to] = [2][]byte{p, old}
	case "tree":
		tree := filepath.Join(s.work, fmt.Sprintf("tree%d", i))
		for k := range 300 {
			sub := fmt.Sprintf("s%d", k%7)
			must(s.T, os.MkdirAll(filepath.Join(tree, sub), 0o755))
			p := s.random(s.rng.IntN(20 << 10))
			must(s.T, os.WriteFile(filepath.Join(tree, sub, fmt.Sprintf("f%d", k)), p, 0o644))
			want[filepath.Join(s.home, "d", filepath.Base(tree), sub, fmt.Sprintf("f%d", k))] = [2][]byte{p, nil}
		}
		args = []string{"cp", "-r", filepath.Base(tree), remote}
	}
	return args, want
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

// check compares what is on the disk with what may be there. complete asks for the new
// content everywhere.
func (s *scene) check(want content, complete bool, when string) {
	for file, versions := range want {
		got, err := os.ReadFile(file)
		isNew := err == nil && bytes.Equal(got, versions[0])
		isOld := err == nil && versions[1] != nil && bytes.Equal(got, versions[1])
		absent := os.IsNotExist(err) && versions[1] == nil
		if isNew || !complete && (isOld || absent) {
			continue
		}
		s.Errorf("%s: %s has %d bytes (%x), wanted %d: %v", when, file, len(got), sha256.Sum256(got), len(versions[0]), err)
	}
	if !complete {
		return
	}
	// Nothing half-written has a name that anybody sees.
	_ = filepath.WalkDir(filepath.Join(s.home, "d"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.Contains(e.Name(), "tmp") {
			s.Errorf("%s: %s is visible", when, path)
		}
		return nil
	})
}

func (s *scene) cut(*exec.Cmd) { s.line.trouble(s.rng.IntN(8<<20), false) }

func (s *scene) damage(*exec.Cmd) { s.line.trouble(s.rng.IntN(8<<20), true) }

func (s *scene) killServer(*exec.Cmd) {
	_ = s.server.Process.Kill()
	_ = s.server.Wait()
	s.startServer()
}

func (s *scene) killClient(c *exec.Cmd) { _ = c.Process.Kill() }

func (s *scene) interruptClient(c *exec.Cmd) { _ = c.Process.Signal(syscall.SIGINT) }
