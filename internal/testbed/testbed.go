package testbed

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// idle is how long, in seconds, an unused cluster is kept.
const idle = "900"

// statusCannot is the status by which a script says that there can be no cluster here.
const statusCannot = 3

// unavailable ends the test: without the part it says nothing.
func unavailable(t testing.TB, part, reason string) {
	t.Helper()
	report(t, part, "cannot "+reason)
	if os.Getenv("CI") == "true" {
		t.Fatalf("no %s: %s", part, reason)
	}
	t.Skipf("no %s: %s", part, reason)
}

// script returns the path of a script of testdata/testbed.
func script(t testing.TB, name string) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("the source of package testbed is not known")
	}
	return filepath.Join(filepath.Dir(file), "..", "..", "testdata", "testbed", name)
}

// stateDir is where the clusters of a test run, or of this user, live.
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

// up calls the script, which starts what does not run, and returns the values that it
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

// clockMoved judges the error of a script that moves a clock.
func clockMoved(t testing.TB, part string, err error) {
	t.Helper()
	if failed := (*scriptError)(nil); errors.As(err, &failed) && failed.status == statusCannot {
		unavailable(t, part, failed.text)
	}
	if err != nil {
		t.Fatalf("the clock of %s: %v", part, err)
	}
}

// call runs a script and returns what it printed on its standard output.
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

// scriptError is a script that failed.
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
