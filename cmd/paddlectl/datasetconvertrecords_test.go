package main

import (
	"os"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// TestConvertRecords converts datasets and RecordIO files again.
func TestConvertRecords(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTree(t, map[string]string{"pets/cat/0.png": "image", "pets/dog/0.png": "image", "lines.txt": "a\n\nb\n"})
	writeTable(t, "t.csv", 5, 0)
	here := func(text string) result {
		t.Helper()
		return runHere(t, append([]string{"dataset", "convert", "--name-prefix", "x", "--output-path"}, strings.Fields(text)...)...)
	}
	for _, text := range []string{"set --line-count 2 t.csv", "pickled --payload pickle t.csv", "images pets", "lines --payload raw lines.txt", "other --columns x,y --no-header t.csv"} {
		if got := here(text); got.code != cliio.Done {
			t.Fatalf("%s: code %d: %s", text, got.code, got.stderr)
		}
	}
	all := runHere(t, "dataset", "cat", "set").stdout
	for _, tt := range []struct {
		name, args string
		info       string // part of the manifest
		records    string // output of cat; "" for the records of set
	}{
		{"fewer shards", "--num-shards 1 set", `"payload":"msgpack","of":"count","source":"recordio","inputs":[{"path":"set","files":3,`, ""},
		{"columns", "set/x", `"columns":[{"name":"a","type":"int"},{"name":"b","type":"text"}]`, ""},
		{"options", "--compressor none set", `"options":["--chunk-size=4194304","--compressor=none","--format=recordio"]`, ""},
		{"another payload", "--payload json set", `"payload":"json"`, ""},
		{"the same payload", "--payload pickle pickled", `"payload":"pickle"`, ""},
		{"from pickle", "--payload msgpack pickled", `"payload":"msgpack"`, ""},
		{"files", "set/x-00000-of-00003 set/x-00001-of-00003 set/x-00002-of-00003", `"payload":"msgpack"`, ""},
		{"a pattern", "set/x-*", `"records":5`, ""},
		{"twice", "--line-count 10 set set", `"columns":[{"name":"a"`, all + all},
		{"classes", "images", `"classes":["cat","dog"]`, runHere(t, "dataset", "cat", "images").stdout},
		{"raw", "lines", `"payload":"raw"`, "\"a\"\n\"\"\n\"b\"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := here("out -f --format recordio " + tt.args)
			if got.code != cliio.Done || !strings.Contains(got.stderr, "of recordio in") {
				t.Fatalf("code %d: %s", got.code, got.stderr)
			}
			if got := runHere(t, "dataset", "info", "--json", "out"); !strings.Contains(got.stdout, tt.info) {
				t.Errorf("got %s, want %s", got.stdout, tt.info)
			}
			want := tt.records
			if want == "" {
				want = all
			}
			if got := runHere(t, "dataset", "cat", "out"); got.stdout != want {
				t.Errorf("got %s, want %s", got.stdout, want)
			}
			if got := here("out --resume --format recordio " + tt.args); got.code != cliio.Done || !strings.Contains(got.stderr, "already complete") {
				t.Errorf("again: code %d: %s", got.code, got.stderr)
			}
		})
	}

	shuffled := here("mixed --format recordio --shuffle --seed 3 --num-shards 2 set")
	if got := runHere(t, "dataset", "cat", "mixed"); shuffled.code != cliio.Done || got.stdout == all || len(got.stdout) != len(all) {
		t.Errorf("shuffled: %s, %s", shuffled.stderr, got.stdout)
	}
	piped, err := os.ReadFile("set/x-00000-of-00003")
	if err != nil {
		t.Fatal(err)
	}
	m := testMain(t, nil, "dataset", "convert", "--name-prefix", "x", "--output-path", "piped", "--format", "recordio", "-")
	m.Stdin = strings.NewReader(string(piped))
	if got := run(t, m); got.code != cliio.Done || !strings.Contains(got.stderr, "2 records of recordio") {
		t.Errorf("standard input: code %d: %s", got.code, got.stderr)
	}

	if err := os.WriteFile("set/x-00001-of-00003", piped[:len(piped)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args string
		code cliio.Code
		want string
	}{
		{"set", cliio.Failed, "it is RecordIO already: name the format recordio\nhint: --format NAME"},
		{"--format recordio set", cliio.Integrity, "x-00001-of-00003"},
		{"--format recordio pickled images", cliio.Usage, "images has records of msgpack, the inputs before it of pickle"},
		{"--format recordio images other", cliio.Usage, "other has other columns or classes"},
		{"--format recordio pets", cliio.NotFound, "no dataset"},
		{"--format recordio t.csv", cliio.Integrity, "this looks like csv"},
		{"--format recordio --bad skip images", cliio.Usage, "--bad does nothing: records of RecordIO are taken as they are"},
		{"--format recordio --exclude x images", cliio.Usage, "--exclude does nothing"},
		{"--format recordio - -", cliio.Usage, "given twice"},
		{"--format recordio nothing", cliio.NotFound, "nothing"},
	} {
		if got := here("wrong " + tt.args); got.code != tt.code || !strings.Contains(got.stderr, tt.want) {
			t.Errorf("%s: code %d: %s; want %d, %s", tt.args, got.code, got.stderr, tt.code, tt.want)
		}
		if left := filesOf(t, "wrong"); len(left) > 0 {
			t.Errorf("%s: left behind: %v", tt.args, left)
		}
	}
}
