package python_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

var update = flag.Bool("update", false, "write the table of docs/datasets.md anew")

// The table is between these lines of docs/datasets.md.
const (
	page       = "../docs/datasets.md"
	tableBegin = "<!-- the types in Python: go test ./python -run TestRoundTrip -update -->\n"
	tableEnd   = "<!-- end of the types in Python -->\n"
)

// TestRoundTrip converts a column of every type in each payload, and compares what Python reads with
// what it wrote. The table of the results is in docs/datasets.md.
func TestRoundTrip(t *testing.T) {
	open(t, "../docs")
	interpreter, dir := venv(t, "test"), t.TempDir()
	roundtrip := func(args ...string) string {
		cmd := exec.Command(interpreter, append([]string{"-B", "-m", "loader_tests.roundtrip"}, args...)...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, stderr.String())
		}
		return string(out)
	}
	roundtrip("write", dir)
	fsys, err := localfs.New(dir, localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{"msgpack", "pickle", "json"} {
		if err := os.Mkdir(filepath.Join(dir, payload), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			base := filepath.Base(file)
			name := strings.TrimSuffix(base, filepath.Ext(base))
			in := recordfile.File{Title: base, End: transfer.End{FS: fsys, Path: pfs.Path("/" + base)}}
			out := pfs.Path("/" + payload + "/" + name)
			_, err := dataset.Convert(context.Background(), dataset.Options{
				Inputs: []dataset.Input{{File: in}}, Payload: payload, Dir: transfer.End{FS: fsys, Path: out}, Name: "t",
			})
			if err == nil {
				continue
			}
			if payload != "json" {
				t.Fatalf("%s as %s: %v", base, payload, err)
			}
			if err := os.MkdirAll(filepath.Join(dir, string(out), "refused"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	table := roundtrip("check", dir)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), tableBegin)
	was, after, ended := strings.Cut(rest, tableEnd)
	switch {
	case !found || !ended:
		t.Fatalf("%s lacks the lines around the table", page)
	case was == table:
	case *update:
		if err := os.WriteFile(page, []byte(before+tableBegin+table+tableEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the table in %s differs: run go test ./python -run TestRoundTrip -update\n%s", page, table)
	}
}
