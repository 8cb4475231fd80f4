package main

import (
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// TestConvertRefusesIdleFlags gives flags without an effect, or with another one than expected.
func TestConvertRefusesIdleFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "t.csv", 3, 0)
	for flags, want := range map[string]string{
		"--max-record 256M":              "--max-record: at most 255M, which is what readers take, is needed",
		"--chunk-size 129M":              "--chunk-size: a size of at most 128M is needed",
		"--skip-lines -1":                "--skip-lines -1: a number from 0 on is needed",
		"--format npy --skip-lines 1":    "npy has no lines to skip",
		"--allow-nan":                    "NaN and Infinity are accepted in jsonl, not in csv",
		"--format csv --allow-nan":       "--allow-nan does nothing: it is for --format jsonl",
		"--payload raw --allow-nan":      "--allow-nan does nothing: --payload raw",
		"--jobs -1":                      "--jobs -1: a number from 0 to 256 is needed",
		"--jobs 1000000000":              "--jobs 1000000000: a number from 0 to 256 is needed",
		"--seed 0":                       "--seed does nothing: it needs --shuffle",
		"--shuffle-memory 1M":            "--shuffle-memory does nothing: it needs --shuffle",
		"--columns x,y":                  "--columns does nothing: the header",
		"--payload raw --type a=int":     "--type does nothing: --payload raw",
		"--payload raw --text":           "--text does nothing: --payload raw",
		"--payload raw --null NA":        "--null does nothing: --payload raw",
		"--payload raw --label a":        "--label does nothing: --payload raw",
		"--max-bad 7":                    "--max-bad does nothing: it needs --bad skip",
		"--line-count 0":                 "--line-count and --num-shards are numbers from 1 up",
		"--num-shards 0":                 "--line-count and --num-shards are numbers from 1 up",
		"--bad xyz":                      "--bad xyz: fail or skip is needed",
		"--bad xyz --max-bad 0":          "--bad xyz: fail or skip is needed",
		"--bad xyz --bad-file b":         "--bad xyz: fail or skip is needed",
		"--bad fail --bad-file b":        "--bad fail and --bad-file",
		"--no-header --columns a,a":      `the column "a" twice`,
		"--label a --label a":            `the column "a" twice`,
		"--label a --label 1":            `column 1 ("a") twice`,
		"--type a=int --type a=text":     `the column "a" twice`,
		"--type a=int --type 1=text":     `column 1 ("a") twice`,
		"--label a --type a=skip --text": `column 1 ("a") is a label`,
		"--format csv --label-from dir":  "--label-from does nothing: labels of directories are for images",
		"--label-from dir":               "--label-from does nothing: labels of directories are for images",
		"--label-from file":              "--label-from file: top, dir or none is needed",
	} {
		args := append([]string{"dataset", "convert", "--output-path", "out", "--name-prefix", "x"}, strings.Fields(flags)...)
		got := runHere(t, append(args, "t.csv")...)
		if got.code == cliio.Done || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: code %d, %q; want %q", flags, got.code, got.stderr, want)
		}
		if left := filesOf(t, "out"); len(left) > 0 {
			t.Fatalf("%s: left behind: %v", flags, left)
		}
	}
}

// TestSpellingsOfOneFlag checks that flags that mean the same have the same names in every
// command of datasets and of RecordIO.
func TestSpellingsOfOneFlag(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "t.csv", 3, 0)
	for _, args := range []string{
		"dataset convert --output-path a --name-prefix x --parallel 2 --chunk 1M t.csv",
		"dataset convert --output-path b --name-prefix x --jobs 2 --chunk-size 1M t.csv",
		"recordio recompress --parallel 2 --chunk 1M a/x-00000-of-00001 -o c",
		"recordio recompress --jobs 2 --chunk-size 1M a/x-00000-of-00001 -o d",
		"recordio verify --jobs 2 c d",
	} {
		if got := runHere(t, strings.Fields(args)...); got.code != cliio.Done {
			t.Errorf("%s: code %d: %s", args, got.code, got.stderr)
		}
	}
}
