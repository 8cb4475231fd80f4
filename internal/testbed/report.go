package testbed

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// report records the outcome of a part for the script that started the tests.
func report(t testing.TB, part, line string) {
	t.Helper()
	dir := os.Getenv("PFS_TESTBED_REPORT")
	if dir == "" {
		return
	}
	f, err := os.OpenFile(filepath.Join(dir, part), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Errorf("the report of the test run: %v", err)
	}
}
