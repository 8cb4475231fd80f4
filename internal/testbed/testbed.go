package testbed

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// idle is how long, in seconds, an unused cluster keeps running.
const idle = "900"

// statusCannot is the exit status of a script on a machine that cannot run the cluster.
const statusCannot = 3

// unavailable skips the test, or fails it in CI, because the part is missing.
func unavailable(t testing.TB, part, reason string) {
	t.Helper()
	report(t, part, "cannot "+reason)
	if os.Getenv("CI") == "true" {
		t.Fatalf("no %s: %s", part, reason)
	}
	t.Skipf("no %s: %s", part, reason)
}

// started is the directory in which the test began: go test runs it in the directory of its package.
var started, _ = os.Getwd()

// script returns the path of a script of testdata/testbed.
func script(t testing.TB, name string) string {
	t.Helper()
	for dir := started; ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "testdata", "testbed", name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("no testdata/testbed/%s above %s, where the test began", name, started)
		}
	}
}

// stateDir returns the directory of the clusters of this test run, or of this user.
func stateDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("PFS_TESTBED_DIR")
	if dir == "" {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("pfs-testbed-%d", os.Getuid()))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// up runs the script, which starts all daemons that do not run, and returns the values that it
// prints.
func up(t testing.TB, part, script string, env []string, args ...string) map[string]string {
	t.Helper()
	out, err := call(script, env, args...)
	if failed := (*scriptError)(nil); errors.As(err, &failed) && failed.status == statusCannot {
		unavailable(t, part, failed.text)
	}
	if err != nil {
		t.Fatalf("start of %s: %v", part, err)
	}
	report(t, part, "ran "+strings.TrimSuffix(filepath.Base(os.Args[0]), ".test"))
	return values(out)
}

// clockMoved handles the error of a script that moves a clock.
func clockMoved(t testing.TB, part string, err error) {
	t.Helper()
	if failed := (*scriptError)(nil); errors.As(err, &failed) && failed.status == statusCannot {
		unavailable(t, part, failed.text)
	}
	if err != nil {
		t.Fatalf("the clock of %s: %v", part, err)
	}
}

// call runs a script and returns its standard output.
func call(path string, env []string, args ...string) (string, error) {
	c := exec.Command(path, args...)
	c.Env = append(os.Environ(), env...)
	out, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = &scriptError{status: exit.ExitCode(), text: strings.TrimSpace(string(exit.Stderr))}
	}
	return string(out), err
}

// scriptError is the failure of a script.
type scriptError struct {
	status int
	text   string // of its standard error
}

func (e *scriptError) Error() string { return fmt.Sprintf("status %d: %s", e.status, e.text) }

// values reads lines of the form NAME=VALUE.
func values(text string) map[string]string {
	m := map[string]string{}
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		if name, value, ok := strings.Cut(s.Text(), "="); ok {
			m[name] = value
		}
	}
	return m
}
