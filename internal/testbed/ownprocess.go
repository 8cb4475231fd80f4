package testbed

import (
	"os"
	"os/exec"
	"testing"
)

// ownProcessEnv names the test that a process was started for.
const ownProcessEnv = "PFS_TEST_PROCESS"

// InOwnProcess runs the calling test in a process of its own, at the same time as other tests. Other
// tests then do not affect the memory that it measures. The test returns if InOwnProcess reports
// false:
//
//	if !testbed.InOwnProcess(t) {
//		return
//	}
func InOwnProcess(t *testing.T) bool {
	t.Helper()
	if os.Getenv(ownProcessEnv) == t.Name() {
		return true
	}
	t.Parallel()
	args := []string{"-test.run=^" + t.Name() + "$", "-test.timeout=5m"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), ownProcessEnv+"="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}
