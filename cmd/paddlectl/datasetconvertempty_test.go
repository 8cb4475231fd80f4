package main

import (
	"os"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// TestConvertOfNothing converts a table of a header only.
func TestConvertOfNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("empty.csv", []byte("a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"--dry-run"}, {"--shuffle"}} {
		args := append([]string{"dataset", "convert", "--output-path", "out", "--name-prefix", "x", "empty.csv"}, flags...)
		got := runHere(t, args...)
		if got.code != cliio.Failed || !strings.Contains(got.stderr, "the input has no records") || !strings.Contains(got.stderr, "--allow-empty") {
			t.Errorf("%v: code %d: %s", flags, got.code, got.stderr)
		}
		if left := filesOf(t, "out"); len(left) > 0 {
			t.Errorf("%v: left behind: %v", flags, left)
		}
		if got := runHere(t, append(args, "--allow-empty", "--force")...); got.code != cliio.Done {
			t.Errorf("%v: with --allow-empty: code %d: %s", flags, got.code, got.stderr)
		}
		if err := os.RemoveAll("out"); err != nil {
			t.Fatal(err)
		}
	}
}
