package testbed

import "testing"

// Long skips a test that only "make test-all" runs. "make test" passes -short.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("in make test-all")
	}
}
