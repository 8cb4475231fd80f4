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

// TestConvertTellsColumns converts tables whose types are found out.
func TestConvertTellsColumns(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"t.csv": "id,x,name\n1,nan,a\n2,1.5,b\n", "wide.csv": strings.Repeat("1,", 13) + "x\n", "l.jsonl": "{}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"t.csv":                   "columns: id int, x float, name text\n",
		"--dry-run t.csv":         "columns: id int, x float, name text\n",
		"--type 1=float32 t.csv":  "columns: id float32, x float, name text\n",
		"--no-header wide.csv":    "columns: 13 int, 1 text\n",
		"--json t.csv":            `"columns":[{"name":"id","type":"int"},{"name":"x","type":"float"},{"name":"name","type":"text"}]`,
		"--json --dry-run t.csv":  `"columns":[{"name":"id","type":"int"},{"name":"x","type":"float"},{"name":"name","type":"text"}]`,
		"-q t.csv":                "",
		"--text t.csv":            "",
		"--payload raw t.csv":     "",
		"--no-header l.jsonl":     "columns: 1 text",
		"--format jsonl l.jsonl":  "",
		"-q --no-header wide.csv": "",
	} {
		got := runHere(t, append([]string{"dataset", "convert", "-f", "--output-path", "out", "--name-prefix", "x"}, strings.Fields(args)...)...)
		if said := got.stdout + got.stderr; got.code != cliio.Done || !strings.Contains(said, want) || want == "" && strings.Contains(said, "columns") {
			t.Errorf("%s: code %d: %s; want %s", args, got.code, said, want)
		}
	}
}
