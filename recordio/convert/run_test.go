package convert

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/paddlecloud/pfs/internal/testbed"
)

// payloads runs opts over the sources and returns the emitted payloads.
func payloads(t *testing.T, opts Options, sources ...Source) ([]string, Stats, error) {
	t.Helper()
	var got []string
	stats, err := Run(t.Context(), sourcesOf(sources...), opts, func(p []byte) error {
		got = append(got, string(p))
		return nil
	})
	return got, stats, err
}

func asJSON(t *testing.T, opts Options, name, data string) ([]string, error) {
	t.Helper()
	opts.Encoding = "json"
	got, _, err := payloads(t, opts, memorySource(name, []byte(data)))
	return got, err
}

// The payloads are the same for any number of workers.
func TestRunDeterministic(t *testing.T) {
	table, lines := benchTable(3<<20), benchLines(3<<20)
	for _, c := range []struct {
		name string
		data []byte
	}{{"a.csv", table}, {"a.jsonl", lines}, {"a.txt", lines}} {
		want, stats, err := payloads(t, Options{Jobs: 1}, memorySource(c.name, c.data), memorySource("b"+c.name, c.data))
		if err != nil {
			t.Fatal(err)
		}
		if stats.Inputs != 2 || stats.Records != int64(len(want)) || stats.Bad != 0 || len(want) == 0 {
			t.Errorf("%s: stats %+v of %d records", c.name, stats, len(want))
		}
		for _, jobs := range []int{2, 7} {
			got, _, err := payloads(t, Options{Jobs: jobs}, memorySource(c.name, c.data), memorySource("b"+c.name, c.data))
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %d jobs: %d records, %v; want the same %d", c.name, jobs, len(got), err, len(want))
			}
		}
	}
}

// However a reader hands out its bytes, and whether or not the input is compressed, the payloads
// are the same.
func TestRunReaders(t *testing.T) {
	data := benchTable(100 << 10)
	want, _, err := payloads(t, Options{}, memorySource("a.csv", data))
	if err != nil {
		t.Fatal(err)
	}
	gz, zs := gzipped(t, data), zstandard(t, data)
	twice := append(gzipped(t, data[:50<<10]), gzipped(t, data[50<<10:])...)
	for name, c := range map[string]Content{
		"a.csv":     {Reader: iotest.HalfReader(bytes.NewReader(data)), Size: -1},
		"b.csv":     {Reader: iotest.DataErrReader(bytes.NewReader(data)), Size: int64(len(data))},
		"c.csv":     {ReaderAt: bytes.NewReader(data), Size: int64(len(data))},
		"d.csv.gz":  {Reader: bytes.NewReader(gz), Size: int64(len(gz))},
		"e.csv":     {Reader: bytes.NewReader(gz), Size: -1},
		"f.CSV.GZ":  {Reader: bytes.NewReader(append(bytes.Clone(gz), gzipped(t, nil)...)), Size: -1},
		"g.csv.zst": {ReaderAt: bytes.NewReader(zs), Size: int64(len(zs))},
		"h.csv.zst": {Reader: bytes.NewReader(append([]byte("\x50\x2a\x4d\x18\x04\x00\x00\x00size"), zs...)), Size: -1},
		"i.csv.gz":  {ReaderAt: bytes.NewReader(twice), Size: int64(len(twice))},
	} {
		closed := 0
		c.Close = func() error { closed++; return nil }
		got, _, err := payloads(t, Options{}, Source{Name: name, Open: func(context.Context) (Content, error) { return c, nil }})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d records, %v; want the same %d", name, len(got), err, len(want))
		}
		if closed != 1 {
			t.Errorf("%s: closed %d times", name, closed)
		}
	}
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

// A wrong number of columns is found at its line, also far into the input and in any block, and the
// records before it have been emitted.
func TestRunWrongColumnCount(t *testing.T) {
	const line = 1_000_001
	var b bytes.Buffer
	b.WriteString("a,b,c\n")
	for range line - 2 {
		b.WriteString("1,2,3\n")
	}
	b.WriteString("1,2\n4,5,6\n")
	for _, jobs := range []int{1, 3} {
		records := 0
		_, err := Run(t.Context(), oneSource("big.csv", b.Bytes()), Options{Jobs: jobs}, func([]byte) error { records++; return nil })
		const want = "big.csv, line 1000001, offset 6000000: 2 columns instead of 3"
		if err == nil || err.Error() != want {
			t.Errorf("%d jobs: got %v, want %s", jobs, err, want)
		}
		var bad *RecordError
		if !errors.As(err, &bad) || bad.Line != line || !errors.Is(err, ErrSyntax) {
			t.Errorf("%d jobs: got %#v", jobs, err)
		}
		if records != line-2 {
			t.Errorf("%d jobs: %d records before it, want %d", jobs, records, line-2)
		}
	}
}

func TestRunBadRecords(t *testing.T) {
	const data = "a\n1\nx\n3\n4,4\n5\n"
	types := CSVOptions{Types: map[string]Type{"a": TypeInt}}
	var collected []string
	collect := func(bad *RecordError, record []byte) error {
		collected = append(collected, fmt.Sprintf("%s|%s", bad, record))
		return nil
	}
	want := []string{"{\"a\":1}", "{\"a\":3}", "{\"a\":5}"}
	for _, c := range []struct {
		bad     BadPolicy
		records int
		err     string
	}{
		{BadPolicy{}, 1, `a.csv, line 3, offset 4: column 1 ("a"): "x" is not of type int`},
		{BadPolicy{Policy: Skip}, 3, ""},
		{BadPolicy{Policy: Collect, Collect: collect}, 3, ""},
		{BadPolicy{Policy: Skip, Max: 1}, 2, "too many bad records: at most 1 may be left out; the next: a.csv, line 5, offset 8: 2 columns instead of 1"},
		{BadPolicy{Policy: Skip, Max: -1}, 3, ""},
	} {
		got, stats, err := payloads(t, Options{Encoding: "json", CSV: types, Bad: c.bad}, memorySource("a.csv", []byte(data)))
		if fmt.Sprint(err) != c.err && (err != nil || c.err != "") {
			t.Errorf("%+v: got error %v, want %s", c.bad, err, c.err)
		}
		if !slices.Equal(got, want[:c.records]) {
			t.Errorf("%+v: got %q, want %q", c.bad, got, want[:c.records])
		}
		if err == nil && (stats.Bad != 2 || len(stats.FirstBad) != 2 || stats.FirstBad[1].Line != 5) {
			t.Errorf("%+v: stats %+v", c.bad, stats)
		}
	}
	wantBad := []string{`a.csv, line 3, offset 4: column 1 ("a"): "x" is not of type int|x`, "a.csv, line 5, offset 8: 2 columns instead of 1|4,4"}
	if !slices.Equal(collected, wantBad) {
		t.Errorf("collected %q, want %q", collected, wantBad)
	}
}

// An error of an input names it and where it was; nothing that was opened stays open.
func TestRunInputErrors(t *testing.T) {
	data := benchTable(2 << 20)
	gz, zs := gzipped(t, data), zstandard(t, data)
	lost := errors.New("the store is gone")
	flipped := bytes.Clone(gz)
	flipped[len(flipped)-8] ^= 1 // in the checksum
	hitGz, hitZs := bytes.Clone(gz), bytes.Clone(zs)
	hitGz[10] |= 6 // a block of a type that there is not
	copy(hitZs[len(hitZs)/2:], make([]byte, 100))
	for _, c := range []struct {
		name    string
		content Content
		want    string
		kind    error
	}{
		{"ended.csv", Content{Reader: bytes.NewReader(data[:len(data)/2]), Size: int64(len(data))},
			fmt.Sprintf("the input ended after %d of its %d bytes", len(data)/2, len(data)), ErrTruncated},
		{"lost.csv", Content{Reader: io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(lost)), Size: -1},
			"the store is gone", lost},
		{"cut.csv.gz", Content{Reader: bytes.NewReader(gz[:len(gz)/2]), Size: -1}, "gzip: the compressed data ends in the middle", ErrTruncated},
		{"cut.csv.zst", Content{Reader: bytes.NewReader(zs[:len(zs)/2]), Size: -1}, "zstd: the compressed data ends in the middle", ErrTruncated},
		{"flipped.csv.gz", Content{Reader: bytes.NewReader(flipped), Size: -1}, "gzip: the data does not match its checksum", ErrChecksum},
		{"hit.csv.gz", Content{Reader: bytes.NewReader(hitGz), Size: -1}, "", ErrChecksum},
		{"hit.csv.zst", Content{Reader: bytes.NewReader(hitZs), Size: -1}, "", ErrChecksum},
		{"lost.csv.gz", Content{Reader: io.MultiReader(bytes.NewReader(gz[:len(gz)/2]), iotest.ErrReader(lost)), Size: -1}, "gzip: the store is gone", lost},
		{"lost.csv.zst", Content{Reader: io.MultiReader(bytes.NewReader(zs[:len(zs)/2]), iotest.ErrReader(lost)), Size: -1}, "zstd: the store is gone", lost},
		{"more.csv.gz", Content{Reader: bytes.NewReader(append(bytes.Clone(gz), "garbage"...)), Size: -1},
			fmt.Sprintf(`gzip: the compressed data ends at byte %d of the file, and something else follows: "garbage"`, len(gz)), ErrSyntax},
		{"cut.csv.gz", Content{Reader: bytes.NewReader(append(bytes.Clone(gz), gz[0])), Size: -1}, "gzip: the compressed data ends in the middle", ErrTruncated},
		{"more.csv.zst", Content{Reader: bytes.NewReader(append(bytes.Clone(zs), "garbage"...)), Size: -1}, "zstd: something other than a frame follows a whole frame", ErrSyntax},
		{"twice.csv.gz.gz", Content{Reader: bytes.NewReader(gzipped(t, gz)), Size: -1}, "it is compressed twice, inside with gzip: decompress it first", ErrFormat},
		{"wide.csv", Content{Reader: strings.NewReader("\xff\xfea\x00,\x00b\x00"), Size: -1}, "the text is UTF-16, not UTF-8: name its encoding, such as utf-16", ErrUnsupported},
		{"twice.csv", Content{Reader: strings.NewReader("a,a\n1,2\n"), Size: -1}, `the header has two columns "a"`, ErrSyntax},
		{"binary", Content{Reader: strings.NewReader("\x00\x01\x02"), Size: -1}, "neither its content nor its name tells the format: name it", ErrUnsupported},
		{"nothing.csv", Content{Size: 3}, "a Content needs a Reader, or a ReaderAt and its Size", ErrUnsupported},
	} {
		open := 0
		s := Source{Name: c.name, Open: func(context.Context) (Content, error) {
			open++
			c.content.Close = func() error { open--; return nil }
			return c.content, nil
		}}
		_, _, err := payloads(t, Options{Jobs: 2}, s)
		if err == nil || !errors.Is(err, c.kind) || !strings.HasPrefix(err.Error(), c.name) || c.want != "" && !strings.HasSuffix(err.Error(), ": "+c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		if open != 0 {
			t.Errorf("%s: %d left open", c.name, open)
		}
	}
}

func TestRunOtherErrors(t *testing.T) {
	data := benchTable(4 << 20)
	full := errors.New("disk full")
	emitted := 0
	_, err := Run(t.Context(), oneSource("a.csv", data), Options{Jobs: 3}, func([]byte) error {
		if emitted++; emitted == 1000 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) || emitted != 1000 {
		t.Errorf("emit: got %v after %d", err, emitted)
	}

	ctx, cancel := context.WithCancel(t.Context())
	emitted = 0
	_, err = Run(ctx, oneSource("a.csv", data), Options{Jobs: 3}, func([]byte) error {
		if emitted++; emitted == 1000 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: got %v", err)
	}

	failed := errors.New("cannot list")
	sources := func(yield func(Source, error) bool) {
		_ = yield(memorySource("a.csv", data), nil) && yield(Source{}, failed)
	}
	if _, err = Run(t.Context(), sources, Options{}, func([]byte) error { return nil }); err != failed {
		t.Errorf("sources: got %v, want %v", err, failed)
	}

	for _, opts := range []Options{{Format: "nothing"}, {Encoding: "nothing"}} {
		if _, err := Run(t.Context(), oneSource("a.csv", data), opts, nil); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%+v: got %v", opts, err)
		}
	}
	if _, err := Run(t.Context(), sourcesOf(), Options{}, nil); err != nil {
		t.Errorf("no sources: %v", err)
	}
}

// A record without end does not take more memory than the limit allows, however much the input
// could be.
func TestRunBombs(t *testing.T) {
	if !testbed.InOwnProcess(t) {
		return
	}
	zeros := make([]byte, 64<<20)
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"a.csv.gz", gzipped(t, zeros)},
		{"a.txt.gz", gzipped(t, zeros)},
		{"a.jsonl.zst", zstandard(t, zeros)},
		{"quote.csv", append([]byte("a\n1\n\""), bytes.Repeat(append(bytes.Repeat([]byte("x"), 1023), '\n'), 16<<10)...)},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := payloads(t, Options{Jobs: 2, Limits: Limits{Record: 1 << 20}}, memorySource(c.name, c.data))
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrLimit) {
			t.Errorf("%s: got %v, want ErrLimit", c.name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 24<<20 {
			t.Errorf("%s: took %d MiB", c.name, took>>20)
		}
	}
}

// repeated reads the same bytes again and again.
type repeated struct {
	data []byte
	left int64
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(int64(len(p)), r.left)], r.data[r.at:])
	r.at, r.left = (r.at+n)%len(r.data), r.left-int64(n)
	return n, nil
}

// Memory does not grow with the input: the buffers of a few blocks are reused.
func TestRunMemory(t *testing.T) {
	if !testbed.InOwnProcess(t) {
		return
	}
	data := benchTable(1 << 20)
	data = data[bytes.IndexByte(data, '\n')+1:]
	const times = 96
	s := Source{Name: "a.csv", Open: func(context.Context) (Content, error) {
		return Content{Reader: &repeated{data: data, left: times * int64(len(data))}, Size: -1}, nil
	}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Run(t.Context(), sourcesOf(s), Options{Jobs: 2, CSV: CSVOptions{NoHeader: true}}, func([]byte) error { return nil })
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err != nil || took > 32<<20 {
		t.Errorf("took %d MiB for %d MiB of input, %v", took>>20, times, err)
	}
}

// The encoding raw keeps each line unchanged.
func TestRunRaw(t *testing.T) {
	for _, c := range []struct {
		name, data string
		want       []string
	}{
		{"a.csv", "a,b\r\n1,\"x\ny\"\r\n\n2,3", []string{"1,\"x\ny\"", "2,3"}},
		{"a.jsonl", "{\"a\": 1}\n[2]\n", []string{"{\"a\": 1}", "[2]"}},
		{"a.txt", "a\n\n\xff\n", []string{"a", "", "\xff"}},
	} {
		got, _, err := payloads(t, Options{Encoding: "raw"}, memorySource(c.name, []byte(c.data)))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}

// The housing table becomes the samples that PaddlePaddle's reader yields: features and label.
func TestRunHousing(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "housing", "housing.data"))
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Format: "csv", CSV: CSVOptions{Comma: ' ', NoHeader: true, Labels: []string{"14"}}}
	opts.CSV.Types = map[string]Type{"4": TypeFloat, "9": TypeFloat}
	got, stats, err := payloads(t, opts, memorySource("housing.data", data))
	if err != nil || len(got) != 506 {
		t.Fatalf("%d records, %v; want 506", len(got), err)
	}
	if len(stats.Columns) != 14 || stats.Columns[13].Type != "float" {
		t.Errorf("columns %v", stats.Columns)
	}
	const want = "929d" + "cb3f79e30014f8b589"
	if got := hex.EncodeToString([]byte(got[0])); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "91cb4038000000000000") {
		t.Errorf("the first record is %s, want %s...", got, want)
	}
	opts.Encoding = "json"
	got, _, err = payloads(t, opts, memorySource("housing.data", data))
	const first = "[[0.00632,18.0,2.31,0.0,0.538,6.575,65.2,4.09,1.0,296.0,15.3,396.9,4.98],[24.0]]"
	if err != nil || got[0] != first {
		t.Errorf("got %s, %v\nwant %s", got[0], err, first)
	}
}

// TestSkipLines leaves out lines in front of headers and records, and counts them.
func TestSkipLines(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		opts       Options
		want       string // records, or the error
	}{
		{"a.csv", "# made by \"x\nold\na,b\n1,2\n", Options{SkipLines: 2}, `{"a":1,"b":2}`},
		{"a.csv", "old,names\n1,2\n", Options{SkipLines: 1, CSV: CSVOptions{NoHeader: true, Columns: []string{"a", "b"}}}, `{"a":1,"b":2}`},
		{"a.csv", "# x\na,b\n1,2\n3\n", Options{SkipLines: 1}, "a.csv, line 4, offset 12: 1 column instead of 2"},
		{"a.txt", "\ufeffone\r\ntwo\r\n", Options{SkipLines: 1}, `"two"`},
		{"a.txt", "one", Options{SkipLines: 3}, ""},
		{"a.txt", strings.Repeat("x", 200) + "\ny\n", Options{SkipLines: 1, Limits: Limits{Record: 100}}, "a.txt: no end of line 1, which is to be skipped, within the limit of 100 bytes"},
		{"a.npy", "", Options{SkipLines: 1, Format: "npy"}, "a.npy: npy has no lines to skip"},
	} {
		got, err := asJSON(t, tt.opts, tt.name, tt.data)
		text := strings.Join(got, " ")
		if err != nil {
			text = err.Error()
		}
		if text != tt.want {
			t.Errorf("%s %q: %s, want %s", tt.name, tt.data, text, tt.want)
		}
	}
}
