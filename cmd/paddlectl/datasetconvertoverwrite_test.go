package main

import (
	"os"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestConvertKeepsItsInput gives inputs that the set would replace, by their own name
// and by others.
func TestConvertKeepsItsInput(t *testing.T) {
	const table = "a,b\n1,x\n"
	tests := []struct {
		name  string
		make  func() error
		input string // the file that must stay
		args  []string
		want  string
	}{
		{"bad file", nil, "in.csv", []string{"--bad-file", "in.csv", "in.csv"}, "in.csv, which would replace"},
		{"bad file, linked", func() error { return os.Symlink("in.csv", "link.csv") }, "in.csv",
			[]string{"--bad-file", "link.csv", "in.csv"}, "link.csv, which would replace"},
		{"bad file, another name of it", func() error { return os.Link("in.csv", "hard.csv") }, "in.csv",
			[]string{"--bad-file", "hard.csv", "in.csv"}, "hard.csv, which would replace"},
		{"shard", func() error { return os.Rename("in.csv", "out/x-00000-of-00001") }, "out/x-00000-of-00001",
			[]string{"--format", "csv", "out/x-00000-of-00001"}, "x-00000-of-00001 is the output"},
		{"shard, linked directory", func() error {
			if err := os.Symlink("out", "same"); err != nil {
				return err
			}
			return os.Rename("in.csv", "out/x-00003-of-00009")
		}, "out/x-00003-of-00009", []string{"--format", "csv", "same/x-00003-of-00009"}, "x-00003-of-00009, which would replace"},
		{"manifest", func() error { return os.Rename("in.csv", "out/.x.manifest") }, "out/.x.manifest",
			[]string{"--format", "csv", "out/.x.manifest"}, ".x.manifest is the output"},
		{"bad file called as a shard", nil, "in.csv", []string{"--bad-file", "out/x-00000-of-00001", "in.csv"}, "the dataset has a file of that name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.Mkdir("out", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("in.csv", []byte(table), 0o600); err != nil {
				t.Fatal(err)
			}
			if tt.make != nil {
				if err := tt.make(); err != nil {
					t.Skip("no such links here:", err)
				}
			}
			before := strings.Join(filesOf(t, "out"), " ")
			got := runHere(t, append([]string{"dataset", "convert", "-f", "--output-path", "out", "--name-prefix", "x"}, tt.args...)...)
			if got.code != cliio.Usage || !strings.Contains(got.stderr, tt.want) {
				t.Errorf("code %d, %q; want 2, %q", got.code, got.stderr, tt.want)
			}
			if text, err := os.ReadFile(tt.input); string(text) != table || err != nil {
				t.Errorf("the input is %q (%v)", text, err)
			}
			if after := strings.Join(filesOf(t, "out"), " "); after != before {
				t.Errorf("written: %s; before: %s", after, before)
			}
		})
	}
}

// TestConvertKeepsItsInputOnTheService uses the old spelling of a home.
func TestConvertKeepsItsInputOnTheService(t *testing.T) {
	t.Chdir(t.TempDir())
	fsys := newHome(t)
	const shard = home + "/x-00000-of-00001"
	pfstest.WriteFile(t, fsys, shard, []byte("a\n1\n"))
	old := strings.Replace(shard, "/home/", "/user/", 1)
	got := run(t, testMain(t, fsys, "dataset", "convert", "-f", "--format", "csv", "--output-path", home, "--name-prefix", "x", old))
	if got.code != cliio.Usage || !strings.Contains(got.stderr, "is the output "+shard) {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
	if text := pfstest.ReadFile(t, fsys, pfs.Path(shard)); string(text) != "a\n1\n" {
		t.Errorf("the input is %q", text)
	}
}
