// Package testbed gives tests a real cluster on loopback.
//
// The packages of a test run share one cluster of each sort: the first test that asks
// starts it (testdata/testbed), and it goes down by itself when nobody has used it for
// a while, or by "make testbed-down". Tests that break something have it to
// themselves; what they broke is mended at their end.
//
// Where no cluster can run, tests are skipped with the reason. With CI=true in the
// environment they fail instead.
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

// unavailable ends the test: without a cluster it says nothing.
func unavailable(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("no testbed: %s", reason)
	}
	t.Skipf("no testbed: %s", reason)
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

// stateDir is where clusters of this user live.
func stateDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("pfs-testbed-%d", os.Getuid()))
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
