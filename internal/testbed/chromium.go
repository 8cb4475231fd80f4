package testbed

import "testing"

// Chromium returns the path of a Chromium.
func Chromium(t testing.TB) string {
	t.Helper()
	return up(t, "chromium", script(t, "chromium.sh"), nil, "up")["BIN"]
}
