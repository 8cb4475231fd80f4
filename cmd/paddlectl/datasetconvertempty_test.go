package main

import (
	"os"
	"path/filepath"
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
		if got.code != cliio.Failed || !strings.Contains(got.stderr, "convert: the input has no records") || !strings.Contains(got.stderr, "--allow-empty") {
			t.Errorf("%v: code %d: %s", flags, got.code, got.stderr)
		}
		if _, err := os.Stat("out"); err == nil {
			t.Errorf("%v: left behind: the directory with %v", flags, filesOf(t, "out"))
		}
		if got := runHere(t, append(args, "--allow-empty", "--force")...); got.code != cliio.Done {
			t.Errorf("%v: with --allow-empty: code %d: %s", flags, got.code, got.stderr)
		}
		if err := os.RemoveAll("out"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConvertTellsColumns converts tables and checks the detected types.
func TestConvertTellsColumns(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"t.csv": "id,x,name\n1,nan,a\n2,1.5,b\n", "unnamed.csv": ",a\n0,x\n", "wide.csv": strings.Repeat("1,", 13) + "x\n", "l.jsonl": "{}\n",
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
		"unnamed.csv":             "columns: \"\" int, a text\n",
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

// TestConvertAsUsersDo makes mistakes in the command line and checks the hints.
func TestConvertAsUsersDo(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("none", 0o700); err != nil {
		t.Fatal(err)
	}
	writeTable(t, "t.csv", 3, 0)
	for name, text := range map[string]string{"pretty.jsonl": "{\n  \"a\": 1\n}\n", "bad.csv": "a\n1,2\n3,4\n5\n",
		"bare.csv": "1,0.5\n2,0.25\n", "twice.csv": "7,7\n7,7\n", "years.csv": "name,2023\na,1\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packed := gzipped(4, []byte("a,b\n"))
	if err := os.WriteFile("cut.csv.gz", packed[:12], 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	for _, tt := range []struct {
		args string
		code cliio.Code
		want string
	}{
		{"none", cliio.Usage, "there is no file in none\nhint: --allow-empty makes an empty dataset\n"},
		{"--allow-empty none", cliio.Done, "0 records of text in 0 shards"},
		{"--allow-empty --format csv none", cliio.Done, "0 records of csv in 0 shards"},
		{"cut.csv.gz", cliio.Integrity, "cut.csv.gz: gzip: the compressed data ends in the middle\n"},
		{"pretty.jsonl", cliio.Failed, "the line ends at column 2 instead of a key\nhint: each line is a record: jq -c . makes a line of each value, and jq -c '.[]' of each item of an array; --bad skip"},
		{"--format jsonl pretty.jsonl", cliio.Failed, "hint: each line is a record: jq -c ."},
		{"--bad skip --max-bad 1 bad.csv", cliio.Failed, "too many bad records: at most 1 may be left out; the next: bad.csv, line 3, offset 6: 2 columns instead of 1\nhint: --max-bad N allows more of them"},
		{"--bad skip --max-bad 0 bad.csv", cliio.Failed, "2 columns instead of 1\nhint: --max-bad N leaves out up to N malformed records"},
		{"bare.csv", cliio.Done, "the first line was read as a header, but all names in it are numbers: --no-header makes it a record\n"},
		{"twice.csv", cliio.Failed, "twice.csv: the header has two columns \"7\"\nhint: --no-header reads the first line as a record; --columns then names"},
		{"--no-header twice.csv", cliio.Done, "convert: columns: 1 int, 2 int\n"},
		{"years.csv", cliio.Done, "convert: columns: name text, 2023 int\npaddlectl: dataset convert: 1 record of csv in 1 shard"},
		{"--name-prefix= t.csv", cliio.Usage, "--name-prefix is needed: what the names of the shards begin with\n"},
		{"--shuffle --shuffle-memory 1 t.csv", cliio.NotFound, "hint: TMPDIR names the directory for temporary files"},
		{"/dev/fd/999999", cliio.NotFound, "hint: a shell replaces <(COMMAND) by a pipe: use COMMAND | paddlectl dataset convert ... -"},
	} {
		got := runHere(t, append([]string{"dataset", "convert", "-f", "--output-path", "out", "--name-prefix", "x"}, strings.Fields(tt.args)...)...)
		if got.code != tt.code || !strings.Contains(got.stderr, tt.want) {
			t.Errorf("%s: code %d: %s; want %d, %s", tt.args, got.code, got.stderr, tt.code, tt.want)
		}
		if tt.args == "years.csv" && strings.Contains(got.stderr, "--no-header") {
			t.Errorf("%s: one name that is a number is warned of: %s", tt.args, got.stderr)
		}
	}
}
