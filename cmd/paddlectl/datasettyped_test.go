package main

import (
	"os"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// TestPathsAsTyped checks that results contain paths as the user typed them.
func TestPathsAsTyped(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "t.csv", 4, 0)
	if err := os.Symlink("set/x-00000-of-00002", "link"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, want string }{
		{"dataset convert --dry-run --json --output-path ./set --name-prefix x --line-count 2 t.csv", `{"dataset":"./set/.x.manifest",`},
		{"dataset convert --json --output-path ./set --name-prefix x --line-count 2 t.csv", `{"dataset":"./set/.x.manifest",`},
		{"dataset convert --resume --json --output-path set/ --name-prefix x --line-count 2 t.csv", `{"dataset":"set/.x.manifest",`},
		{"dataset info --json ./set", `{"path":"./set",`},
		{"dataset info --json set/x", `{"path":"set",`},
		{"dataset shard --trainers 2 --trainer 0 --lists . --json set", `{"path":"./train.list","files":1}`},
		{"recordio split --json --records 1 --output-path sp/ --name y-%05d set/x-00000-of-00002", `{"path":"sp/y-00000",`},
		{"recordio index --json ./set/x-00000-of-00002", `{"path":"./set/x-00000-of-00002","index":"./set/.x-00000-of-00002.idx",`},
		{"recordio index --check set/x-00000-of-00002", "matches   set/.x-00000-of-00002.idx\n"},
		{"recordio index --check link", "/set/.x-00000-of-00002.idx\n"},
		{"recordio index --remove set/x-00000-of-00002", "removed   set/.x-00000-of-00002.idx\n"},
	} {
		got := runHere(t, strings.Fields(tt.args)...)
		if got.code != cliio.Done || !strings.Contains(got.stdout, tt.want) {
			t.Errorf("%s: code %d, %.200s, want %s; %s", tt.args, got.code, got.stdout, tt.want, got.stderr)
		}
	}
}

// TestErrorsAsTyped checks the paths in errors.
func TestErrorsAsTyped(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "t.csv", 4, 0)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got := runHere(t, strings.Fields("dataset convert --output-path set --name-prefix x t.csv")...); got.code != cliio.Done {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	if err := os.Mkdir("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, want string }{
		{"dataset convert --output-path ./set --name-prefix x t.csv", "dataset convert: ./set/.x.manifest: already exists"},
		{"dataset convert --output-path new --name-prefix x ./nothing.csv", "dataset convert: ./nothing.csv: no such file"},
		{"dataset convert --output-path no/new --name-prefix x t.csv", "dataset convert: no/new: no such file"},
		{"dataset cat nothing", "dataset cat: nothing: no such file"},
		{"dataset cat empty", "dataset cat: empty: no dataset: there is no manifest"},
		{"dataset info ../nothing/x", "dataset info: ../nothing/x: no such file"},
		{"recordio cat " + here + "/nothing", "recordio cat: " + here + "/nothing: no such file"},
		{"recordio index --check set/x-00000-of-00001", "recordio index: set/.x-00000-of-00001.idx: no such file"},
		{"recordio merge -o t.csv set/x-00000-of-00001", "recordio merge: t.csv: already exists"},
	} {
		got := runHere(t, strings.Fields(tt.args)...)
		if got.code == cliio.Done || !strings.HasPrefix(got.stderr, "paddlectl: "+tt.want) {
			t.Errorf("%s: code %d, %q; want %q", tt.args, got.code, got.stderr, tt.want)
		}
	}
}
