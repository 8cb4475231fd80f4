package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// TestConvertComplete repeats a conversion that is complete.
func TestConvertComplete(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "t.csv", 30, 0)
	base := []string{"dataset", "convert", "--output-path", "out", "--name-prefix", "x"}
	made := append(slices.Clone(base), "--line-count", "10", "--resume", "t.csv")
	for i, want := range []string{"30 records of csv in 3 shards", "already complete: 30 records in 3 shards", "already complete"} {
		if got := runHere(t, made...); got.code != cliio.Done || !strings.Contains(got.stderr, want) {
			t.Fatalf("run %d: code %d: %s", i, got.code, got.stderr)
		}
	}
	if got := runHere(t, append(made, "--json")...); got.code != cliio.Done || !strings.Contains(got.stdout, `"kept":3,`) || !strings.Contains(got.stdout, `"already":true`) {
		t.Errorf("code %d: %s", got.code, got.stdout)
	}
	for _, tt := range []struct{ name, args, want string }{
		{"not asked for", "--line-count 10 t.csv", "the dataset exists\n"},
		{"another option", "--line-count 5 --resume t.csv", "not what this command makes: it was made with --line-count=10, not --line-count=5"},
		{"another option", "--line-count 10 --text --resume t.csv", "it was made without --text=true"},
		{"other rows", "--line-count 10 --resume t.csv t.csv", "it was made without t.csv of 1 file"},
		{"standard input", "--line-count 10 --resume -", "with t.csv of 1 file, 146 bytes, not - of 1 file, 0 bytes"},
	} {
		dry := append(append(slices.Clone(base), "--dry-run"), strings.Fields(tt.args)...)
		for _, args := range [][]string{slices.Delete(slices.Clone(dry), len(base), len(base)+1), dry} {
			if got := runHere(t, args...); got.code != cliio.Exists || !strings.Contains(got.stderr, tt.want) || !strings.Contains(got.stderr, "--force replaces it") {
				t.Errorf("%s: %v: code %d: %s; want %s", tt.name, args, got.code, got.stderr, tt.want)
			}
		}
	}

	piped := func() result {
		m := testMain(t, nil, "dataset", "convert", "--format", "text", "--output-path", "piped", "--name-prefix", "x", "--resume", "-")
		m.Stdin = strings.NewReader("a\n")
		return run(t, m)
	}
	if got := piped(); got.code != cliio.Done {
		t.Errorf("standard input: code %d: %s", got.code, got.stderr)
	}
	if got := piped(); got.code != cliio.Exists || !strings.Contains(got.stderr, "whether standard input is what it was made of is not known") {
		t.Errorf("standard input again: code %d: %s", got.code, got.stderr)
	}

	later := time.Now().Add(time.Hour)
	if err := os.Chtimes("t.csv", later, later); err != nil {
		t.Fatal(err)
	}
	if got := runHere(t, made...); got.code != cliio.Exists || !strings.Contains(got.stderr, "t.csv was changed after it") {
		t.Errorf("a newer input: code %d: %s", got.code, got.stderr)
	}
	if err := os.Chtimes("t.csv", time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	shard, err := os.ReadFile("out/x-00001-of-00003")
	if err != nil {
		t.Fatal(err)
	}
	shard[len(shard)-1] ^= 1
	if err := os.WriteFile("out/x-00001-of-00003", shard, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runHere(t, made...); got.code != cliio.Integrity || !strings.Contains(got.stderr, "x-00001-of-00003") {
		t.Errorf("a damaged shard: code %d: %s", got.code, got.stderr)
	}
}

// TestConvertRehearsesRefusals checks that a dry run refuses the same as a real run.
func TestConvertRehearsesRefusals(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "t.csv", 3, 0)
	writeTable(t, "bad.jsonl", 3, 0)
	args := []string{"dataset", "convert", "--dry-run", "--output-path", "out", "--name-prefix", "x", "t.csv"}
	if got := runHere(t, args...); got.code != cliio.Done {
		t.Fatalf("nothing in the way: code %d: %s", got.code, got.stderr)
	}
	if _, err := os.Stat("out"); err == nil {
		t.Error("a dry run made the directory")
	}
	if got := runHere(t, append(args, "--bad-file", "bad.jsonl")...); got.code != cliio.Exists {
		t.Errorf("a file of bad records that exists: code %d: %s", got.code, got.stderr)
	}
	if err := os.MkdirAll("out/.x.convert", 0o700); err != nil {
		t.Fatal(err)
	}
	if got := runHere(t, args...); got.code != cliio.Exists || !strings.Contains(got.stderr, "--resume keeps") {
		t.Errorf("a run that was not completed: code %d: %s", got.code, got.stderr)
	}
	if err := os.RemoveAll("out/.x.convert"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("out/x-00000-of-00001", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runHere(t, args...); got.code != cliio.Exists || !strings.Contains(got.stderr, "--force replaces them") {
		t.Errorf("a shard: code %d: %s", got.code, got.stderr)
	}
	if left := filesOf(t, "out"); !slices.Equal(left, []string{"x-00000-of-00001"}) {
		t.Errorf("left behind: %v", left)
	}
}
