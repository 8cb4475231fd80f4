// Runs the tests of the Python package, on files that the Go writer made just before.
package python_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/recordio"
)

// written is an entry of the index that the Python tests read; its form is that of
// the golden files.
type written struct {
	File          string
	Records       int
	RecordsSHA256 string
}

// sets are the records to write: of all sizes about the limits of chunks and frames.
func sets() map[string][][]byte {
	r := rand.New(rand.NewPCG(5, 5))
	noise := func(n int) []byte {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		return p
	}
	mixed := [][]byte{{}, noise(1), {}, noise(65_536), []byte(strings.Repeat("to be or not to be, ", 9000)), noise(200_000), {}}
	var small [][]byte
	for i := range 5000 {
		small = append(small, fmt.Appendf(nil, "%d,%.3f,the words of line %d", i, r.Float64(), i%97))
	}
	return map[string][][]byte{"none": nil, "mixed": mixed, "small": small, "empty": make([][]byte, 10)}
}

// variants are the options to write each set with.
func variants() map[string]recordio.WriterOptions {
	return map[string]recordio.WriterOptions{
		"none":          {Compressor: recordio.None},
		"none-chunks":   {Compressor: recordio.None, ChunkBytes: 1000},
		"snappy":        {Compressor: recordio.Snappy},
		"snappy-chunks": {Compressor: recordio.Snappy, ChunkBytes: 100_000},
		"snappy-index":  {Compressor: recordio.Snappy, ChunkBytes: 50_000, Index: recordio.EmbedIndex},
		"gzip":          {Compressor: recordio.Gzip, ChunkBytes: 100_000},
	}
}

// write writes every set in every variant into dir, with an index.
func write(t *testing.T, dir string) {
	t.Helper()
	var index []written
	for set, records := range sets() {
		for variant, opts := range variants() {
			entry := written{File: set + "." + variant, Records: len(records), RecordsSHA256: digest(records)}
			index = append(index, entry)
			writeFile(t, filepath.Join(dir, entry.File), opts, records)
		}
	}
	text, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "index.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t *testing.T, path string, opts recordio.WriterOptions, records [][]byte) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := recordio.NewWriter(f, opts)
	for _, rec := range records {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func digest(records [][]byte) string {
	h := sha256.New()
	for _, rec := range records {
		fmt.Fprintf(h, "%d:%s", len(rec), rec)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestPython3(t *testing.T) { run(t, "python3") }

// TestPython2 runs the plain readers in Python 2.7.
func TestPython2(t *testing.T) {
	out, err := exec.Command("./python2.sh").CombinedOutput()
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("no Python 2.7 here: %v\n%s", err, out)
	}
	if err != nil {
		t.Fatalf("python2.sh: %v\n%s", err, out)
	}
	run(t, strings.TrimSpace(string(out)))
}

// run runs all tests of the Python package. Without Python it skips, but not where
// everything must have been tested.
func run(t *testing.T, python string) {
	if err := exec.Command(python, "--version").Run(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is needed to test the Python package: %v", python, err)
		}
		t.Skipf("%s does not run here: %v", python, err)
	}
	open(t, ".", "../recordio/testdata/golden")
	dir := t.TempDir()
	write(t, dir)
	encode(t, dir)
	cmd := exec.Command(python, "-B", "-m", "unittest", "discover", "-s", "tests", "-t", ".")
	cmd.Env = append(os.Environ(), "RECORDIO_WRITTEN="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", python, err, out)
	}
	if lines := strings.Split(strings.TrimSpace(string(out)), "\n"); len(lines) > 2 {
		t.Log(strings.Join(lines[len(lines)-3:], " "))
	}
}

// open opens the files that the Python tests read, because go test only invalidates its cached
// result if a file changes that the test itself has opened.
func open(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			return f.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
