package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// startDir is where tests begin, before any of them goes elsewhere.
var startDir, startDirErr = os.Getwd()

// convertData is where package convert keeps real data.
func convertData(t *testing.T, name string) string {
	t.Helper()
	if startDirErr != nil {
		t.Fatal(startDirErr)
	}
	return filepath.Join(startDir, "../../recordio/convert/testdata", name)
}

// runHere runs the program on files of this machine.
func runHere(t *testing.T, args ...string) result {
	t.Helper()
	m := testMain(t, nil, args...)
	return run(t, m)
}

// writeTable writes rows of two columns; bad, if above 0, is the line with three.
func writeTable(t *testing.T, name string, rows, bad int) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "a,b")
	for i := 2; i <= rows+1; i++ {
		if fmt.Fprintf(w, "%d,x", i); i == bad {
			w.WriteString(",y")
		}
		w.WriteByte('\n')
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// filesOf lists the entries of a directory, dot-files included.
func filesOf(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestConvertBadInput checks the exact messages for bad inputs. A failed conversion leaves nothing.
func TestConvertBadInput(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "wide.csv", 1_000_010, 1_000_001)
	if err := os.Mkdir("pets", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("pets/dog.png", []byte("this is no dog"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		code cliio.Code
		want string
	}{
		{"columns", []string{"wide.csv"}, cliio.Failed,
			"paddlectl: dataset convert: wide.csv, line 1000001, offset 8888896: 3 columns instead of 2\n"},
		{"unlabelled image", []string{"--format", "images", "pets"}, cliio.Failed, "pets/dog.png: the image has no label\nhint: the directories right below"},
		{"image", []string{"--format", "images", "--label-from", "none", "pets"}, cliio.Failed,
			"paddlectl: dataset convert: pets/dog.png, record 1, offset 0: not an image: it begins with \"this is no dog\"\n"},
		{"pickle", []string{convertData(t, "pickle/evil-2.pickle")}, cliio.Failed, "posix.system"},
		{"not there", []string{"nothing.csv"}, cliio.NotFound, "nothing.csv: no such file or directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := runHere(t, append([]string{"dataset", "convert", "--output-path", "out", "--name-prefix", "x"}, tt.args...)...)
			if got.code != tt.code || !strings.Contains(got.stderr, tt.want) {
				t.Errorf("code %d, %q; want %d, %q", got.code, got.stderr, tt.code, tt.want)
			}
			if left := filesOf(t, "out"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// spoiling is a reader that changes its source while it is read.
type spoiling struct {
	r     io.Reader
	spoil func()
}

func (v *spoiling) Read(p []byte) (int, error) {
	if v.spoil != nil {
		v.spoil()
		v.spoil = nil
	}
	return v.r.Read(p)
}

// TestConvertInputVanishes makes the second input disappear, or shrink, once the
// first, standard input, is being read.
func TestConvertInputVanishes(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		name  string
		spoil func() error
		code  cliio.Code
		want  string
	}{
		{"gone", func() error { return os.Remove("second.csv") }, cliio.NotFound, "second.csv: no such file or directory"},
		{"closed", func() error { return os.Chmod("second.csv", 0) }, cliio.Denied, "second.csv: permission denied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "closed" && os.Geteuid() == 0 {
				t.Skip("root may read everything")
			}
			writeTable(t, "second.csv", 10, 0)
			m := testMain(t, nil, "dataset", "convert", "--output-path", "out", "--name-prefix", "x", "--format", "csv", "-", "second.csv")
			m.Stdin = &spoiling{r: strings.NewReader("a,b\n1,x\n"), spoil: func() {
				if err := tt.spoil(); err != nil {
					t.Error(err)
				}
			}}
			got := run(t, m)
			if got.code != tt.code || !strings.Contains(got.stderr, tt.want) || strings.Count(got.stderr, "second.csv") != 1 {
				t.Errorf("code %d, %q; want %d, %q", got.code, got.stderr, tt.code, tt.want)
			}
			if left := filesOf(t, "out"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestConvertImages converts real images, of which one is broken.
func TestConvertImages(t *testing.T) {
	t.Chdir(t.TempDir())
	got := runHere(t, "dataset", "convert", "--output-path", "out", "--name-prefix", "pets", "--bad", "skip", convertData(t, "images"))
	if got.code != cliio.Done || !strings.Contains(got.stderr, "images/dog/broken.png, record 1") {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	got = runHere(t, "dataset", "cat", "out")
	lines := strings.Split(strings.TrimSuffix(got.stdout, "\n"), "\n")
	if len(lines) != 8 || !strings.HasPrefix(lines[0], `{"name":"cat/a.png","label":"cat","class":0,"format":"png",`) ||
		!strings.HasPrefix(lines[7], `{"name":"dog/h.webp","label":"dog","class":1,`) {
		t.Errorf("got %.200s", got.stdout)
	}
	if got := runHere(t, "dataset", "info", "out"); !strings.Contains(got.stdout, "classes   cat, dog\n") {
		t.Errorf("info: %s", got.stdout)
	}
	got = runHere(t, "dataset", "convert", "--output-path", "raw", "--name-prefix", "pets", "--bad", "skip", "--payload", "raw", convertData(t, "images"))
	if want := "the payload raw keeps only the bytes or the text of a sample: 8 samples have more, such as a label, which is left out\n"; !strings.Contains(got.stderr, want) {
		t.Errorf("raw: %s, want %s", got.stderr, want)
	}
}

// killed starts a real process that converts standard input, gives it half of the
// table, and kills it once two shards are finished.
func killed(t *testing.T, table []byte) {
	t.Helper()
	cmd := exec.Command("paddlectl", "dataset", "convert", "--format", "csv", "--output-path", "out", "--name-prefix", "x", "--line-count", "1000", "-")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write(table[:bytes.LastIndexByte(table[:len(table)*3/4], '\n')+1]); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if slices.Contains(filesOf(t, "out/.x.convert"), "00001.shard") {
			break
		}
		if time.Now().After(deadline) {
			t.Error("no shard was finished")
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	cmd.Wait() // it was killed
}

// TestConvertKilled kills a conversion and resumes it.
func TestConvertKilled(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "table.csv", 400_000, 0)
	table, err := os.ReadFile("table.csv")
	if err != nil {
		t.Fatal(err)
	}
	killed(t, table)
	if t.Failed() {
		return
	}
	if left := filesOf(t, "out"); !slices.Equal(left, []string{".x.convert"}) {
		t.Fatalf("the killed run left %v, want .x.convert only", left)
	}
	convert := func(stdin []byte, flags ...string) result {
		m := testMain(t, nil, append([]string{"dataset", "convert", "--format", "csv", "--name-prefix", "x", "--line-count", "1000"}, flags...)...)
		m.Stdin, m.Lease = bytes.NewReader(stdin), time.Millisecond
		return run(t, m)
	}
	if got := convert(table, "--output-path", "out", "-"); got.code != cliio.Exists || !strings.Contains(got.stderr, "--resume keeps") {
		t.Errorf("without --resume: code %d: %s", got.code, got.stderr)
	}
	if got := convert(table, "--output-path", "out", "--seed", "1", "--shuffle", "--resume", "-"); got.code != cliio.Exists || !strings.Contains(got.stderr, "other inputs or options") {
		t.Errorf("with other options: code %d: %s", got.code, got.stderr)
	}
	other := bytes.Replace(table, []byte("2,x"), []byte("7,x"), 1)
	if got := convert(other, "--output-path", "out", "--resume", "-"); got.code != cliio.Exists || !strings.Contains(got.stderr, "the input has changed") {
		t.Errorf("with another input: code %d: %s", got.code, got.stderr)
	}
	got := convert(table, "--output-path", "out", "--resume", "-")
	if got.code != cliio.Done || !strings.Contains(got.stderr, "400 shards") || !strings.Contains(got.stderr, "from the earlier run") {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	if got := convert(table, "--output-path", "once", "-"); got.code != cliio.Done {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	sameFiles(t, "out", "once")
}

// sameFiles checks that two directories have the same content.
func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	if x, y := filesOf(t, a), filesOf(t, b); !slices.Equal(x, y) {
		t.Fatalf("%d files and %d: %v", len(x), len(y), x)
	}
	for _, name := range filesOf(t, a) {
		x, errX := os.ReadFile(filepath.Join(a, name))
		y, errY := os.ReadFile(filepath.Join(b, name))
		if errX != nil || errY != nil || !bytes.Equal(x, y) {
			t.Errorf("%s differs (%v, %v)", name, errX, errY)
		}
	}
}

// TestConvertResumesOnlyWhatIsRight spoils a finished shard of a run that failed.
func TestConvertResumesOnlyWhatIsRight(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "t.csv", 5000, 4500)
	args := []string{"dataset", "convert", "--output-path", "out", "--name-prefix", "x", "--line-count", "1000", "t.csv"}
	if got := runHere(t, args...); got.code != cliio.Failed || !strings.Contains(got.stderr, "4 finished shards are kept") {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	parts := map[string]string{} // by number
	for _, name := range filesOf(t, "out/.x.convert") {
		if number, end, _ := strings.Cut(name, "."); end != "shard" {
			parts[number] = filepath.Join("out/.x.convert", name)
		}
	}
	if err := os.WriteFile(parts["00002"], []byte("spoilt"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(parts["00003"]); err != nil {
		t.Fatal(err)
	}
	writeTable(t, "t.csv", 5000, 0)
	got := runHere(t, append(args, "--resume")...)
	if got.code != cliio.Done || !strings.Contains(got.stderr, "5 shards, ") || !strings.Contains(got.stderr, "2 of them from the earlier run") {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	if got := runHere(t, "dataset", "verify", "out"); got.code != cliio.Done {
		t.Errorf("verify: code %d: %s", got.code, got.stderr)
	}
}

// TestConvertResumesSkipping resumes a stopped conversion without the row that stopped it, as its
// message suggests.
func TestConvertResumesSkipping(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "t.csv", 5000, 4500)
	args := []string{"dataset", "convert", "--output-path", "out", "--name-prefix", "x", "--line-count", "1000", "t.csv"}
	if got := runHere(t, args...); got.code != cliio.Failed {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	got := runHere(t, append(args, "--resume", "--bad", "skip")...)
	if got.code != cliio.Done || !strings.Contains(got.stderr, "4 of them from the earlier run") {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	args[3] = "once"
	if got := runHere(t, append(args, "--bad", "skip")...); got.code != cliio.Done {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	sameFiles(t, "out", "once")
}

// TestConvertBadRecordsHaveOneCode converts malformed records of several kinds: a truncated record
// does not count as damage.
func TestConvertBadRecordsHaveOneCode(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"wide.csv": "a,b\n1,2,3\n", "quote.csv": "a,b\n1,\"2\n", "cut.jsonl": "{\"a\":", "wrong.jsonl": "{\"a\":,}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := runHere(t, "dataset", "convert", "--output-path", "out", "--name-prefix", "x", name)
		if got.code != cliio.Failed || strings.Count(got.stderr, name) != 1 {
			t.Errorf("%s: code %d: %s", name, got.code, got.stderr)
		}
	}
}

// TestConvertFullDisk lets no file of a real process grow above 64 KiB.
func TestConvertFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the limit is set as on linux")
	}
	t.Chdir(t.TempDir())
	writeTable(t, "t.csv", 200_000, 0)
	const script = `trap '' XFSZ; ulimit -f 128; exec paddlectl dataset convert --compressor none --output-path out --name-prefix x t.csv`
	out, err := exec.Command("bash", "-c", script).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "file too large") {
		t.Errorf("got %v: %s", err, out)
	}
	for _, flags := range []string{"--num-shards 3", "--shuffle --shuffle-memory 100k"} {
		out, err := exec.Command("bash", "-c", script+" "+flags).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "file too large\nhint: TMPDIR names the directory for temporary files\n") {
			t.Errorf("%s: got %v: %s", flags, err, out)
		}
	}
	if left := filesOf(t, "out"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestConvertDeterministic makes one set in several ways that must not matter.
func TestConvertDeterministic(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "t.csv", 100_000, 0)
	for i, flags := range [][]string{{"--jobs", "1"}, {"--jobs", "7"}, {"--shuffle-memory", "100k"}} {
		args := []string{"dataset", "convert", "--output-path", fmt.Sprint("out", i), "--name-prefix", "x", "--num-shards", "7", "--shuffle", "--seed", "3", "t.csv"}
		if got := runHere(t, append(args, flags...)...); got.code != cliio.Done {
			t.Fatalf("code %d: %s", got.code, got.stderr)
		}
	}
	sameFiles(t, "out0", "out1")
	sameFiles(t, "out0", "out2")
	text, err := os.ReadFile("out0/.x.manifest")
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Decode(text)
	if err != nil || m.Records != 100_000 || len(m.Shards) != 7 || m.Shards[0].Records-m.Shards[6].Records != 1 {
		t.Errorf("%v: %+v", err, m)
	}
}

// TestPythonReadsDatasets reads the output of convert and split with the readers of python/.
func TestPythonReadsDatasets(t *testing.T) {
	if err := exec.Command("python3", "--version").Run(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("python3 is needed to test that Python reads datasets: %v", err)
		}
		t.Skip("no python3 here")
	}
	readers := filepath.Join(startDir, "../../python")
	t.Chdir(t.TempDir())
	const script = `
import recordio, sys
total = 0
for trainer in range(2):
    for features, label in recordio.recordio_reader("out/housing-*", 2, trainer)():
        assert len(features) == 13 and len(label) == 1, (features, label)
        total += label[0]
split = 0
for trainer in range(2):
    for features, label in recordio.cluster_files_reader("lists/*.pickle", 2, trainer)():
        split += label[0]
print("%.1f %.1f" % (total, split))
`
	for _, encoding := range []string{"msgpack", "pickle"} {
		got := runHere(t, "dataset", "convert", "--force", "--output-path", "out", "--name-prefix", "housing", "--line-count", "100", "--payload", encoding,
			"--no-header", "--delimiter", "space", "--label", "14", convertData(t, "housing/housing.data"))
		if got.code != cliio.Done {
			t.Fatalf("%s: code %d: %s", encoding, got.code, got.stderr)
		}
		got = runHere(t, "dataset", "split", "--force", "--line-count", "200", "--suffix", "lists/%05d.pickle", "out")
		if got.code != cliio.Done {
			t.Fatalf("%s: code %d: %s", encoding, got.code, got.stderr)
		}
		cmd := exec.Command("python3", "-c", script)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+readers, "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		if want := "11401.6 11401.6\n"; err != nil || !strings.HasSuffix(string(out), want) {
			t.Errorf("%s: %v: %s; want %s", encoding, err, out, want)
		}
	}
}

func TestPickledTupleIsOneSample(t *testing.T) {
	t.Chdir(t.TempDir())
	got := runHere(t, "dataset", "convert", "--output-path", "out", "--name-prefix", "p", "--payload", "pickle", convertData(t, "pickle/py2-housing-00000.pickle"))
	if got.code != cliio.Done {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	got = runHere(t, "dataset", "cat", "-n", "1", "out")
	if strings.Count(got.stdout, "\n") != 1 || !strings.HasPrefix(got.stdout, "[[") {
		t.Errorf("got %q", got.stdout)
	}
}

// TestConvertWarnsOfEmptyRecords converts a TFRecord file with one empty record.
func TestConvertWarnsOfEmptyRecords(t *testing.T) {
	t.Chdir(t.TempDir())
	masked := func(p []byte) []byte {
		c := crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli))
		return binary.LittleEndian.AppendUint32(nil, (c>>15|c<<17)+0xa282ead8)
	}
	length := make([]byte, 8)
	if err := os.WriteFile("e.tfrecord", slices.Concat(length, masked(length), masked(nil)), 0o600); err != nil {
		t.Fatal(err)
	}
	got := runHere(t, "dataset", "convert", "--format", "tfrecord-raw", "--payload", "raw", "--output-path", "out", "--name-prefix", "e", "e.tfrecord")
	if got.code != cliio.Done || !strings.Contains(got.stderr, "1 record is empty: many readers") {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
}

// TestPublishGoesOn cuts off a publication before its manifest, with one shard less,
// and publishes again: the same set in the same version, another set in the next.
func TestPublishGoesOn(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "t.csv", 20, 0)
	fsys := newHome(t)
	const one = pfs.Path("/pfs/dc/public/dataset/x/1")
	if err := pfs.MkdirAll(t.Context(), fsys, one.Parent().Parent(), 0o755); err != nil {
		t.Fatal(err)
	}
	type published struct {
		Version int
		Digest  string
	}
	publish := func(records string) published {
		t.Helper()
		got := runHere(t, "dataset", "convert", "--force", "--output-path", "out", "--name-prefix", "x", "--line-count", records, "t.csv")
		if got.code != cliio.Done {
			t.Fatalf("code %d: %s", got.code, got.stderr)
		}
		got = run(t, testMain(t, fsys, "dataset", "publish", "--json", "out"))
		var j published
		if err := json.Unmarshal([]byte(got.stdout), &j); err != nil || got.code != cliio.Done {
			t.Fatalf("code %d, %v: %s", got.code, err, got.stderr)
		}
		return j
	}
	first := publish("5")
	for _, name := range []string{".x.manifest", "x-00002-of-00004"} {
		if err := fsys.Remove(t.Context(), one.Join(name)); err != nil {
			t.Fatal(err)
		}
	}
	pfstest.WriteFile(t, fsys, one.Join(".publishing"), []byte(first.Digest))
	if second := publish("10"); second.Version != 2 {
		t.Errorf("another set became version %d, want 2", second.Version)
	}
	if err := pfs.RemoveTree(t.Context(), fsys, one.Parent().Join("2")); err != nil {
		t.Fatal(err)
	}
	if again := publish("5"); again != first {
		t.Errorf("got %+v, want %+v", again, first)
	}
	if got := run(t, testMain(t, fsys, "dataset", "verify", string(one))); got.code != cliio.Done {
		t.Errorf("verify: code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	if there, err := pfs.Exists(t.Context(), fsys, one.Join(".publishing")); there || err != nil {
		t.Errorf("the claim is there: %v, %v", there, err)
	}
}

// TestPublishOnce publishes the same set again, and one that is not like it.
func TestPublishOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	fsys := newHome(t)
	const top = pfs.Path("/pfs/dc/public/dataset/x")
	if err := pfs.MkdirAll(t.Context(), fsys, top.Parent(), 0o755); err != nil {
		t.Fatal(err)
	}
	publish := func(code cliio.Code, want string, args ...string) {
		t.Helper()
		got := run(t, testMain(t, fsys, append([]string{"dataset", "publish"}, args...)...))
		if got.code != code || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: code %d, %q; want %d, %q", args, got.code, got.stderr, code, want)
		}
	}
	convert := func(dir, prefix, text string) {
		t.Helper()
		if err := os.WriteFile("t.csv", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := runHere(t, "dataset", "convert", "--output-path", dir, "--name-prefix", prefix, "t.csv"); got.code != cliio.Done {
			t.Fatalf("code %d: %s", got.code, got.stderr)
		}
	}
	convert("one", "x", "a,b\n1,2\n")
	convert("columns", "x", "a,c\n1,2\n")
	convert("prefix", "y", "a,b\n1,2\n")
	publish(cliio.Done, "/x/1: 1 record", "one", string(top))
	if err := fsys.Remove(t.Context(), top.Join("latest")); err != nil { // interrupted just before its end
		t.Fatal(err)
	}
	publish(cliio.Done, "already published as version 1", "one", string(top))
	pfstest.WantFile(t, fsys, top.Join("latest"), []byte("1\n"))
	publish(cliio.Done, "/x/2: 1 record", "--force", "one", string(top))
	publish(cliio.Exists, "columns", "columns", string(top))
	publish(cliio.Exists, "publish: /pfs/dc/public/dataset/x/2: the newest version has the prefix \"x\", this set \"y\"\nhint: --change-schema ", "prefix", string(top))
	publish(cliio.Done, "/x/3: 1 record", "--change-schema", "prefix", string(top))
	if err := fsys.Mkdir(t.Context(), top.Join("1000000000"), 0o755); err != nil {
		t.Fatal(err)
	}
	publish(cliio.Exists, "/x: there is no version number after 1000000000\nhint: another NAME", "--change-schema", "one", string(top))
	if err := fsys.Mkdir(t.Context(), top.Join("9223372036854775807"), 0o755); err != nil {
		t.Fatal(err)
	}
	publish(cliio.Usage, "no version has a number above", "one", string(top))
}

// claimed is a service in which another publisher completes a version just before this
// one claims it.
type claimed struct {
	*memfs.FS
	meanwhile func()
}

func (c *claimed) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	if name.Base() == "1" && c.meanwhile != nil {
		c.meanwhile()
		c.meanwhile = nil
	}
	return c.FS.Mkdir(ctx, name, mode)
}

// TestPublishClaimsOnlyWhatIsFree has the version completed, and its claim gone, between
// the look and the claim.
func TestPublishClaimsOnlyWhatIsFree(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "t.csv", 20, 0)
	if got := runHere(t, "dataset", "convert", "--output-path", "out", "--name-prefix", "x", "t.csv"); got.code != cliio.Done {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	writeTable(t, "t.csv", 10, 0)
	if got := runHere(t, "dataset", "convert", "--output-path", "other", "--name-prefix", "x", "t.csv"); got.code != cliio.Done {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	fsys := &claimed{FS: newHome(t)}
	const one = pfs.Path("/pfs/dc/public/dataset/x/1")
	if err := pfs.MkdirAll(t.Context(), fsys.FS, one.Parent().Parent(), 0o755); err != nil {
		t.Fatal(err)
	}
	fsys.meanwhile = func() {
		if got := run(t, testMain(t, fsys.FS, "dataset", "publish", "other")); got.code != cliio.Done {
			t.Errorf("code %d: %s", got.code, got.stderr)
		}
	}
	got := run(t, testMain(t, fsys, "dataset", "publish", "out"))
	if got.code != cliio.Done || !strings.Contains(got.stderr, "/x/2: 20 records") {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
	if got := run(t, testMain(t, fsys, "dataset", "verify", string(one))); got.code != cliio.Done {
		t.Errorf("verify: code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	pfstest.WantNames(t, fsys, one, ".x.manifest", "x-00000-of-00001")
}

// unnamedIn has an entry in dir whose name is not UTF-8.
type unnamedIn struct {
	pfs.FileSystem
	dir pfs.Path
}

func (u unnamedIn) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	page, err := u.FileSystem.List(ctx, dir, opts)
	if dir == u.dir {
		page.Unnamed = append(page.Unnamed, `"\xff"`)
	}
	return page, err
}

// TestPublishKeepsWhatIsThere finds another file in the place of a shard, one that is not part of
// the set, and one whose name is not a Path.
func TestPublishKeepsWhatIsThere(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "t.csv", 20, 0)
	if got := runHere(t, "dataset", "convert", "--output-path", "out", "--name-prefix", "x", "t.csv"); got.code != cliio.Done {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	for name, want := range map[string]string{"x-00000-of-00001": "its digest is", "x-00000-of-00009": "/x/1/x-00000-of-00009: it is not part of the set and would be published with it\nhint: paddlectl rm ", "": `/x/1: entry "\xff" is not part of the set`} {
		fsys := newHome(t)
		at := pfs.Path("/pfs/dc/public/dataset/x/1").Join(name)
		if err := pfs.MkdirAll(t.Context(), fsys, at.Parent(), 0o755); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile("out/.x.manifest")
		if err != nil {
			t.Fatal(err)
		}
		sum, err := digest.Of(t.Context(), func(p []byte, off int64) error { copy(p, text[off:]); return nil }, int64(len(text)), digest.BLAKE3, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		pfstest.WriteFile(t, fsys, at.Parent().Join(".publishing"), []byte(sum))
		if name == "" {
			got := run(t, testMain(t, unnamedIn{fsys, at.Parent()}, "dataset", "publish", "out"))
			if got.code == cliio.Done || !strings.Contains(got.stderr, want) {
				t.Errorf("code %d: %s; want %q", got.code, got.stderr, want)
			}
			continue
		}
		pfstest.WriteFile(t, fsys, at, []byte("other"))
		got := run(t, testMain(t, fsys, "dataset", "publish", "out"))
		if got.code == cliio.Done || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: code %d: %s; want %q", name, got.code, got.stderr, want)
		}
		pfstest.WantFile(t, fsys, at, []byte("other"))
	}
}

// TestPublishEmpty publishes a set without records only with the flag for it.
func TestPublishEmpty(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("t.csv", []byte("a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runHere(t, "dataset", "convert", "--output-path", "out", "--name-prefix", "x", "t.csv"); got.code != cliio.Done {
		t.Skipf("convert makes no empty sets: %s", got.stderr)
	}
	fsys := newHome(t)
	if err := pfs.MkdirAll(t.Context(), fsys, "/pfs/dc/public/dataset", 0o755); err != nil {
		t.Fatal(err)
	}
	if got := run(t, testMain(t, fsys, "dataset", "publish", "out")); got.code != cliio.Usage || !strings.Contains(got.stderr, "--allow-empty") {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
	if got := run(t, testMain(t, fsys, "dataset", "publish", "--allow-empty", "out")); got.code != cliio.Done {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
}
