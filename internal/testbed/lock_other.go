//go:build !unix

package testbed

import "testing"

// hold skips the test: the scripts need a Unix.
func hold(t testing.TB, part, _ string, _ bool) {
	t.Helper()
	unavailable(t, part, "clusters run on Linux")
}
