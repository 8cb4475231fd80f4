package main

import (
	"context"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// closedDir is a store with a directory that nobody may read, neither in a listing nor in the sum
// of a tree.
type closedDir struct {
	pfs.FileSystem
	name pfs.Path
}

func (c *closedDir) List(ctx context.Context, name pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	if name == c.name {
		return pfs.Page{}, pfs.E("List", name, pfs.Permission, nil)
	}
	return c.FileSystem.List(ctx, name, opts)
}

// TestSumWithoutAClosedDirectory sums all readable directories, and names the others.
func TestSumWithoutAClosedDirectory(t *testing.T) {
	fsys := newHome(t)
	for _, file := range []string{"a/file", "a/open/file", "a/closed/file"} {
		name := pfs.Path(home).Join(file)
		if err := pfs.MkdirAll(t.Context(), fsys, name.Parent(), 0o755); err != nil {
			t.Fatal(err)
		}
		pfstest.WriteFile(t, fsys, name, []byte("12345"))
	}
	closed := &closedDir{fsys, home + "/a/closed"}
	for _, tt := range []struct{ args, out string }{
		{"-s", "10\t" + home + "/a\n"},
		{"--max-depth=1", "5\t" + home + "/a/open\n10\t" + home + "/a\n"},
		{"--max-depth=2", "5\t" + home + "/a/open\n10\t" + home + "/a\n"},
	} {
		got := run(t, testMain(t, closed, "du", tt.args, home+"/a"))
		if got.code != cliio.Partly || got.stdout != tt.out || strings.Count(got.stderr, "permission denied") != 1 || !strings.Contains(got.stderr, "/a/closed") {
			t.Errorf("du %s: code %d, %q, %q", tt.args, got.code, got.stdout, got.stderr)
		}
	}
	if got := run(t, testMain(t, closed, "du", "-s", home+"/a/closed")); got.code != cliio.Denied || got.stdout != "" {
		t.Errorf("du -s of the directory itself: code %d, %q, %q", got.code, got.stdout, got.stderr)
	}
}
