package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// damagedSet makes the dataset "set" of 100 numbers in two shards of five chunks each, and
// damages a chunk of ten in the first, and cuts the last one of the second in two.
func damagedSet(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	var lines strings.Builder
	for i := range 100 {
		lines.WriteString(string(rune('0'+i/10)) + string(rune('0'+i%10)) + "\n")
	}
	writeFile(t, "t.txt", []byte(lines.String()))
	got := runHere(t, "dataset", "convert", "--format", "text", "--payload", "raw", "--output-path", "set", "--name-prefix", "n",
		"--num-shards", "2", "--chunk-size", "20", "--compressor", "none", "t.txt")
	if got.code != cliio.Done {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	const first, second = "set/n-00000-of-00002", "set/n-00001-of-00002"
	data, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, first, flipped(data, len(data)/2))
	if err := os.Truncate(second, int64(len(data)-10)); err != nil {
		t.Fatal(err)
	}
}

// TestDatasetOnDamage skips damage in the shards of a set.
func TestDatasetOnDamage(t *testing.T) {
	damagedSet(t)
	const lost = "2 damaged places: 10 records lost, plus an unknown number at 1 place"
	for _, tt := range []struct {
		args    string
		code    cliio.Code
		records int
		want    string
	}{
		{"cat set", cliio.Integrity, 0, "the shard has"},
		{"cat --on-damage skip set", cliio.Partly, 80, lost},
		{"cat --on-damage skip -n 80 set", cliio.Partly, 80, ""},
		{"cat --on-damage skip -n 10 set", cliio.Done, 10, ""},
		{"cat --on-damage some set", cliio.Usage, 0, "--on-damage some: fail, skip or salvage is needed"},
		{"shard --trainers 2 --trainer 0 --read --on-damage skip set", cliio.Partly, 40, "1 damaged place: 10 records lost"},
		{"shard --trainers 2 --trainer 1 --read --on-damage salvage set", cliio.Partly, 40, "unknown number"},
		{"shard --trainers 2 --trainer 1 --on-damage skip set", cliio.Usage, 0, "--on-damage has no effect without --read"},
		{"shard --trainers 2 --trainer 1 --read --equal drop --on-damage skip set", cliio.Usage, 0, "--on-damage skip and --equal drop contradict each other"},
		{"shard --trainers 2 --trainer 1 --read --policy range --on-damage skip set", cliio.Usage, 0, "policy range uses record numbers"},
		{"convert --output-path out --name-prefix x --format recordio set", cliio.Integrity, 0, "the shard has"},
		{"convert --output-path out --name-prefix x --format recordio --on-damage skip set", cliio.Partly, 0, lost},
		{"convert --output-path out --name-prefix x --format recordio --on-damage skip --resume set", cliio.Done, 0, "already complete"},
		{"info out", cliio.Done, 5, ""},
		{"cat out", cliio.Done, 80, ""},
		{"split --line-count 30 --as json --on-damage skip --suffix s-%05d set", cliio.Partly, 0, lost},
		{"split --line-count 30 --as json --on-damage skip --suffix s-%05d-of-%05d set", cliio.Usage, 0, "--on-damage skip needs --line-count and a pattern without -of-"},
		{"split --num-files 2 --as json --on-damage skip set", cliio.Usage, 0, "--on-damage skip needs --line-count"},
		{"convert --output-path new --name-prefix x --on-damage skip t.txt", cliio.Usage, 0, "--on-damage does nothing: it is for --format recordio"},
	} {
		got := runHere(t, append([]string{"dataset"}, strings.Fields(tt.args)...)...)
		if got.code != tt.code || !strings.Contains(got.stderr, tt.want) {
			t.Errorf("%s: code %d, want %d, %q: %s", tt.args, got.code, tt.code, tt.want, got.stderr)
		}
		if n := strings.Count(got.stdout, "\n"); n != tt.records && !strings.HasPrefix(tt.args, "info") {
			t.Errorf("%s: %d records, want %d", tt.args, n, tt.records)
		}
	}
	if got := filesOf(t, "."); !slices.Equal(got, []string{"out", "s-00000", "s-00001", "s-00002", "set", "t.txt"}) {
		t.Errorf("files %v", got)
	}
	if got := runHere(t, "dataset", "info", "out"); !strings.Contains(got.stdout, "--on-damage=skip") {
		t.Errorf("info: %s", got.stdout)
	}
}

// TestDatasetOnDamageOfWholeSet has an intact shard that differs from its manifest: options that
// skip damage do not skip it.
func TestDatasetOnDamageOfWholeSet(t *testing.T) {
	damagedSet(t)
	data, err := os.ReadFile("set/n-00001-of-00002")
	if err != nil {
		t.Fatal(err)
	}
	const chunk = 20 + 10*(4+2)
	writeFile(t, "set/n-00000-of-00002", data[:3*chunk])
	got := runHere(t, "dataset", "cat", "--on-damage", "skip", "set")
	if got.code != cliio.Integrity || !strings.Contains(got.stderr, "the shard has 240 bytes, the manifest says 400") {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
}
