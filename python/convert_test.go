package python_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
)

// TestConvertLikeGo converts samples in Python, and the records of the result with PaddleCompat in
// Go: the shards are the same, and the manifests but for the inputs.
func TestConvertLikeGo(t *testing.T) {
	dir := t.TempDir()
	const program = `import recordio, sys
for compressor in ("none", "snappy"):
    for n, line_count in ((10, 4), (9, 4), (5000, 1200)):
        name = "%s-%d-%d" % (compressor, n, line_count)
        reader = lambda: ((i, "the words of sample %d" % i, [i / 8] * (i % 50)) for i in range(n))
        recordio.convert(sys.argv[1] + "/" + name, reader, line_count, "t", compressor=compressor)
`
	python(t, nil, venv(t, "test"), "-c", program, dir)
	fsys, err := localfs.New(dir, localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, compressor := range []string{"none", "snappy"} {
		for _, c := range [][2]int64{{10, 4}, {9, 4}, {5000, 1200}} {
			name := fmt.Sprintf("%s-%d-%d", compressor, c[0], c[1])
			made := transfer.End{FS: fsys, Path: pfs.Path("/" + name)}
			set, err := dataset.Open(context.Background(), dataset.Path(made).File)
			if err != nil {
				t.Fatal(err)
			}
			if err := set.Check(context.Background(), recordio.Fail); err != nil {
				t.Fatal(err)
			}
			_, err = dataset.Convert(context.Background(), dataset.Options{
				Inputs: []dataset.Input{dataset.Path(made)}, Format: dataset.RecordsFormat, Dir: transfer.End{FS: fsys, Path: made.Path + "-go"}, Name: "t",
				LineCount: c[1], PaddleCompat: true, Payload: "pickle", Compressor: compressor,
			})
			if err != nil {
				t.Fatal(err)
			}
			sameFiles(t, filepath.Join(dir, name), filepath.Join(dir, name+"-go"))
		}
	}
}

func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	list, err := os.ReadDir(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		got, want := lines(t, filepath.Join(a, e.Name())), lines(t, filepath.Join(b, e.Name()))
		if strings.HasSuffix(e.Name(), ".manifest") {
			got, want = withoutInputs(got), withoutInputs(want)
		}
		if len(got) != len(want) {
			t.Errorf("%s/%s has %d lines, want %d", a, e.Name(), len(got), len(want))
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s/%s, line %d: %q, want %q", a, e.Name(), i+1, got[i], want[i])
				break
			}
		}
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(string(text), "\n")
}

// withoutInputs leaves out what a manifest says about the inputs.
func withoutInputs(lines []string) []string {
	from := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, `  "source"`) })
	to := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, `  "options"`) })
	return slices.DeleteFunc(slices.Concat(lines[:from], lines[to:]), func(s string) bool { return strings.Contains(s, "--format=") })
}
