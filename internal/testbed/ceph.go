//go:build unix

// Package testbed starts the real stores that tests run against.
package testbed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// CephCluster is a running Ceph cluster with one CephFS.
type CephCluster struct {
	Dir        string // where all of it is kept
	Conf       string // its ceph.conf
	Keyring    string // with the key of User
	User       string // without "client."
	Monitors   string // host:port
	FileSystem string

	script string
	user   *os.File // locked until the process ends
}

// Ceph returns the Ceph cluster that all packages of a test run share, for as long as
// the test runs. The first one to ask starts it; a minute after the last process has
// ended it takes itself down.
//
// Where a cluster cannot run the test is skipped with the reason; under CI=true it
// fails. Nobody breaks the cluster meanwhile: see CephAlone.
func Ceph(t testing.TB) CephCluster { return ceph(t, syscall.LOCK_SH) }

// CephAlone is Ceph for a test that kills daemons: it waits until no other test uses
// the cluster, and others wait for it. At its end everything is started again. A test
// that holds Ceph must not ask for it.
func CephAlone(t testing.TB) CephCluster {
	c := ceph(t, syscall.LOCK_EX)
	t.Cleanup(func() { c.run(t, "heal", c.Dir) })
	return c
}

func ceph(t testing.TB, how int) CephCluster {
	t.Helper()
	c, err := sharedCeph()
	if err != nil {
		cannotRun(t, "Ceph", err)
	}
	use, err := lock(filepath.Join(filepath.Dir(c.Dir), "ceph.use"), how)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { use.Close() })
	return c
}

// sharedCeph starts the cluster or finds it running. This process counts as one of its
// users from then on, by a lock that ends with the process.
var sharedCeph = sync.OnceValues(func() (CephCluster, error) {
	script, err := cephScript()
	if err != nil {
		return CephCluster{}, err
	}
	base := filepath.Join(os.TempDir(), fmt.Sprintf("pfs-testbed-%d", os.Getuid()))
	if err := os.MkdirAll(base, 0o700); err != nil {
		return CephCluster{}, err
	}
	users := filepath.Join(base, "ceph.users")
	user, err := lock(users, syscall.LOCK_SH)
	if err != nil {
		return CephCluster{}, err
	}
	starting, err := lock(filepath.Join(base, "ceph.starting"), syscall.LOCK_EX)
	if err != nil {
		return CephCluster{}, err
	}
	defer starting.Close()
	c := CephCluster{Dir: filepath.Join(base, "ceph"), User: "admin", FileSystem: "cephfs", script: script, user: user}
	c.Conf, c.Keyring = filepath.Join(c.Dir, "ceph.conf"), filepath.Join(c.Dir, "keyring")
	if exec.Command(script, "alive", c.Dir).Run() != nil {
		if err := c.up(users); err != nil {
			return CephCluster{}, err
		}
	}
	monitors, err := os.ReadFile(filepath.Join(c.Dir, "monitors"))
	c.Monitors = strings.TrimSpace(string(monitors))
	return c, err
})

// cephScript returns the script once the programs are there.
func cephScript() (string, error) {
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("it runs on Linux, this is %s", runtime.GOOS)
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	script := filepath.Join(root, "testdata", "testbed", "ceph.sh")
	out, err := exec.Command(script, "missing").CombinedOutput()
	if err == nil {
		return script, nil
	}
	return "", fmt.Errorf("%s install, as root on Debian, brings what is missing: %s", script, strings.Join(strings.Fields(string(out)), " "))
}

// up starts a new cluster in place of what is left of another, and the process that
// takes it down.
func (c CephCluster) up(users string) error {
	for _, args := range [][]string{{"down", c.Dir}, {"up", c.Dir}} {
		if out, err := outputOf(c.script, args...); err != nil {
			return fmt.Errorf("ceph.sh %s: %w: %s", args[0], err, out)
		}
	}
	reaper := exec.Command(c.script, "linger", c.Dir, users)
	reaper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := reaper.Start(); err != nil {
		return err
	}
	return reaper.Process.Release()
}

// Kill ends a daemon ("mon", "mgr", "osd", "mds") as a power cut would.
func (c CephCluster) Kill(t testing.TB, daemon string) { c.run(t, "kill", c.Dir, daemon) }

// Start starts a daemon that was killed.
func (c CephCluster) Start(t testing.TB, daemon string) { c.run(t, "start", c.Dir, daemon) }

// Pause makes a daemon silent: it keeps its connections and answers nothing.
func (c CephCluster) Pause(t testing.TB, daemon string) { c.run(t, "pause", c.Dir, daemon) }

// Resume ends a Pause.
func (c CephCluster) Resume(t testing.TB, daemon string) { c.run(t, "resume", c.Dir, daemon) }

// Command runs the ceph command as the administrator and returns what it prints.
func (c CephCluster) Command(t testing.TB, args ...string) string {
	return c.run(t, append([]string{"ceph", c.Dir}, args...)...)
}

func (c CephCluster) run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := outputOf(c.script, args...)
	if err != nil {
		t.Fatalf("ceph.sh %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// outputOf runs a command whose output goes to a file: a daemon that inherits it would
// keep a pipe open.
func outputOf(program string, args ...string) (string, error) {
	f, err := os.CreateTemp("", "pfs-testbed-*.out")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = f, f
	failed := cmd.Run()
	out, err := os.ReadFile(f.Name())
	if failed != nil {
		err = failed
	}
	return string(out), err
}

// lock takes a lock that lasts until the file is closed.
func lock(name string, how int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if err == nil {
			return f, nil
		}
		if err != syscall.EINTR {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
	}
}

// cannotRun skips the test, or fails it where nothing may be left out.
func cannotRun(t testing.TB, what string, why error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s cannot run here, and under CI it must: %v", what, why)
	}
	t.Skipf("%s cannot run here: %v", what, why)
}

// moduleRoot returns the directory of go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
