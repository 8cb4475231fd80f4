package submit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// at returns the local directory dir as a package.
func at(t *testing.T, dir string) transfer.End {
	t.Helper()
	fsys, err := localfs.New("/", localfs.Options{FollowLinks: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fsys.Close() })
	return transfer.End{FS: fsys, Path: pfs.Path(dir)}
}

// write makes the files in dir, with their names as content unless a name has "=CONTENT".
func write(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, f := range files {
		name, text, ok := strings.Cut(f, "=")
		if !ok {
			text = name
		}
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIgnoreAsGit compares the files of a package with those that git would add, for random rules.
func TestIgnoreAsGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	names := []string{"a", "b", "ab", "a.o", "b.o", "{a}", "#a", "!a", "x y"}
	patterns := []string{
		"a", "b/", "/a", "*.o", "a/b", "/a/*", "a/**", "**/b", "a/**/b", "!a", "!*.o", "!/a", "!a/b", "[ab]", "[!a]", "?", "*", "!b/",
		"{a}", "\\#a", "\\!a", "#a", "x y", "a ", "", "/", "**", "*/b", "!a/", "b/**/*.o", "a*", "b**",
	}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string, n int) (list []string) {
		for range n {
			list = append(list, from[random.IntN(len(from))])
		}
		return list
	}
	for i := range rounds {
		dir := t.TempDir()
		for range 40 {
			parts := pick(names, 1+random.IntN(3))
			if os.MkdirAll(filepath.Join(append([]string{dir}, parts[:len(parts)-1]...)...), 0o755) == nil {
				_ = os.WriteFile(filepath.Join(append([]string{dir}, parts...)...), nil, 0o644)
			}
		}
		rules := strings.Join(pick(patterns, 1+random.IntN(5)), "\n")
		below := strings.Join(pick(patterns, random.IntN(3)), "\n")
		write(t, dir, ".gitignore="+rules+"\n")
		if info, err := os.Stat(filepath.Join(dir, "a")); err == nil && info.IsDir() {
			write(t, dir, "a/.gitignore="+below)
		}
		want := git(t, dir)
		var got []string
		c, err := scan(context.Background(), at(t, dir))
		if err != nil && len(want) > 0 {
			t.Fatalf("round %d, rules %q and %q: %v", i, rules, below, err)
		}
		if err == nil {
			for rel, e := range c.entries {
				if !e.dir {
					got = append(got, rel)
				}
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("round %d, rules %q and %q in a:\n got %q\nwant %q", i, rules, below, got, want)
		}
	}
}

// git returns the files below dir that git would add, sorted.
func git(t *testing.T, dir string) []string {
	t.Helper()
	var out []byte
	for _, args := range [][]string{{"init", "-q"}, {"-c", "core.quotePath=false", "ls-files", "-z", "--others", "--exclude-per-directory=.gitignore"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		var err error
		if out, err = cmd.Output(); err != nil {
			t.Fatal(fmt.Errorf("git %q: %w", args, err))
		}
	}
	list := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if list[0] == "" {
		list = nil
	}
	slices.Sort(list)
	return list
}
