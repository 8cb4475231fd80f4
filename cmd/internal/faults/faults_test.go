// Package faults contains the fault campaign: the real programs, over TLS, with a network that cuts
// and damages, and processes that are killed at random moments. After every fault each file is
// whole and correct, or absent, and the same command run again completes.
package faults

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	count = flag.Int("faults", 10, "number of faults to inject; with -short, one of each kind")
	seed  = flag.Uint64("seed", 0, "seed of the campaign; 0 takes one from the clock")
	long  = flag.Int64("long", 160, "MiB of the upload during which the access token expires")
)

func TestFaults(t *testing.T) {
	s := newScene(t)
	s.makeHome()
	kinds := []func(*exec.Cmd){s.cut, s.damage, s.restartServer, s.killClient, s.interruptClient}
	names := []string{"cut", "flip", "kill server", "kill client", "interrupt client"}
	if testing.Short() {
		*count = len(kinds) // one of each kind
	}
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

// round runs one copy with one fault, checks the files, runs it again and checks again.
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

// content maps files on disk to their allowed contents: the new one and, if there was one before,
// the old one.
type content map[string][2][]byte

// prepare makes the files of a round and returns the command that copies them.
func (s *scene) prepare(i int, direction string) (args []string, want content) {
	want = content{}
	remote := "/pfs/local/home/alice/d/"
	switch direction {
	case "up", "down":
		name := fmt.Sprintf("%s%d", direction, i%3) // old versions are replaced
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

// check compares the files on the disk with their allowed contents. complete requires the new
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
	// No half-written file has a visible name.
	_ = filepath.WalkDir(filepath.Join(s.home, "d"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.Contains(e.Name(), "tmp") {
			s.Errorf("%s: %s is visible", when, path)
		}
		return nil
	})
}

func (s *scene) cut(*exec.Cmd) { s.line.startFaults(s.rng.IntN(8<<20), false) }

func (s *scene) damage(*exec.Cmd) { s.line.startFaults(s.rng.IntN(8<<20), true) }

func (s *scene) killClient(c *exec.Cmd) { _ = c.Process.Kill() }

func (s *scene) interruptClient(c *exec.Cmd) { _ = c.Process.Signal(syscall.SIGINT) }
