package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// TestInfoIsShort shows a dataset of many inputs and classes.
func TestInfoIsShort(t *testing.T) {
	t.Chdir(t.TempDir())
	files, args := map[string]string{}, []string{"dataset", "convert", "--label-from", "dir", "--output-path", "out", "--name-prefix", "x"}
	const mostShown = 20
	for i := range mostShown + 2 {
		name := fmt.Sprintf("images/c%03d/a.png", i)
		files[name] = "image"
		args = append(args, name)
	}
	writeTree(t, files)
	if got := runHere(t, args...); got.code != cliio.Done {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	got := runHere(t, "dataset", "info", "out").stdout
	if n := strings.Count(got, "input     a.png (1 file"); n != mostShown || !strings.Contains(got, "input     and 2 more: --json shows all\n") {
		t.Errorf("%d inputs of %s", n, got)
	}
	if !strings.Contains(got, "c018, c019, and 2 more: --json shows all\n") || strings.Contains(got, "c020") {
		t.Errorf("classes of %s", got)
	}
}
