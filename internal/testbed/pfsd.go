package testbed

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// BuildPfsd builds pfsd and returns its path.
func BuildPfsd(t testing.TB) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "pfsd")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/paddlecloud/pfs/cmd/pfsd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// AddUser adds an account to the data directory of a pfsd.
func AddUser(t testing.TB, program, data, user, password string) {
	t.Helper()
	add := exec.Command(program, "user", "add", user, "--data", data, "--password-stdin")
	add.Stdin = strings.NewReader(password + "\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// Pfsd is a pfsd in a process of its own, which a test can kill.
type Pfsd struct {
	t       testing.TB
	program string
	args    []string
	cmd     *exec.Cmd
	said    string // until it could be reached
	alive   atomic.Bool

	mu  sync.Mutex
	log bytes.Buffer
}

// StartPfsd starts "pfsd serve" and returns when it can be reached. It ends with the test.
func StartPfsd(t testing.TB, program string, args ...string) *Pfsd {
	t.Helper()
	p := &Pfsd{t: t, program: program, args: append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)}
	p.Start()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			p.mu.Lock()
			defer p.mu.Unlock()
			t.Logf("pfsd %v:\n%s", p.args, p.log.String())
		}
	})
	return p
}

// Start starts the process after Kill. It has other ports then.
func (p *Pfsd) Start() {
	p.t.Helper()
	p.cmd = exec.Command(p.program, p.args...)
	stderr, err := p.cmd.StderrPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	reachable := make(chan string, 1)
	go func() {
		defer close(reachable)
		var said strings.Builder
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.mu.Lock()
			p.log.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
			if said.WriteString(lines.Text() + "\n"); strings.Contains(lines.Text(), "listening on ") {
				reachable <- said.String()
			}
		}
	}()
	if p.said = <-reachable; p.said == "" {
		_ = p.cmd.Wait()
		p.t.Fatalf("pfsd %v ended:\n%s", p.args, p.log.String())
	}
	p.alive.Store(true)
}

// Kill kills the process, if it runs.
func (p *Pfsd) Kill() {
	if p.alive.CompareAndSwap(true, false) {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// Alive reports whether the process has not been killed.
func (p *Pfsd) Alive() bool { return p.alive.Load() }

// Address returns the HOST:PORT that pfsd has said after a text, such as "listening on https://".
func (p *Pfsd) Address(after string) string {
	p.t.Helper()
	m := regexp.MustCompile(regexp.QuoteMeta(after) + `([0-9.]+:\d+)`).FindStringSubmatch(p.said)
	if m == nil {
		p.t.Fatalf("no %q in:\n%s", after, p.said)
	}
	return m[1]
}

// SSH returns the address of its gateway for SFTP.
func (p *Pfsd) SSH() string {
	p.t.Helper()
	m := regexp.MustCompile(`sftp -P (\d+) NAME@(\S+)`).FindStringSubmatch(p.said)
	if m == nil {
		p.t.Fatalf("no port of SSH in:\n%s", p.said)
	}
	return m[2] + ":" + m[1]
}
