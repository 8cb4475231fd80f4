package convert

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// fileInput is an input with random access.
func fileInput(name string, data []byte) Input {
	r := bytes.NewReader(data)
	return Input{Name: name, Reader: io.NewSectionReader(r, 0, r.Size()), ReaderAt: r, Size: r.Size()}
}

// streamInput is an input that can only be read in order.
func streamInput(name string, data []byte) Input {
	return Input{Name: name, Reader: bytes.NewReader(data), Size: -1}
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// decoded is the result of decoding an input.
type decoded struct {
	records []string // as JSON
	bad     []string // messages of bad records
	err     error    // that ended the input, nil at its end
}

// decodeWith reads an input as f does. Of many records it keeps only the first ones.
func decodeWith(f Format, in Input, opts Options) (d decoded) {
	dec, err := f.open(in, opts)
	if err != nil {
		d.err = err
		return d
	}
	enc := newJSON(Limits{})
	for n := 0; ; n++ {
		enc.Reset()
		err := dec.Next(enc)
		var bad *RecordError
		switch {
		case err == io.EOF:
			return d
		case errors.As(err, &bad):
			d.bad = append(d.bad, bad.Error())
		case err != nil:
			d.err = err
			return d
		case enc.Err() != nil:
			d.bad = append(d.bad, enc.Err().Error())
		case n < 1000:
			d.records = append(d.records, string(enc.Append(nil)))
		}
	}
}

// checkRecords compares decoded records, which must be without errors.
func checkRecords(t *testing.T, got decoded, want []string) {
	t.Helper()
	if got.err != nil || len(got.bad) > 0 {
		t.Fatalf("error %v, bad records %q", got.err, got.bad)
	}
	if !slices.Equal(got.records, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got.records, "\n     "), strings.Join(want, "\n     "))
	}
}

// checkMessage compares the first error, of the input or of a record, and its kind.
func checkMessage(t *testing.T, d decoded, want string) {
	t.Helper()
	got := ""
	if d.err != nil {
		got = d.err.Error()
		if !knownKind(d.err) {
			t.Errorf("%v is of no kind", d.err)
		}
	} else if len(d.bad) > 0 {
		got = d.bad[0]
	}
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// checkMemory fails if fn takes more than most bytes in all.
func checkMemory(t *testing.T, most uint64, fn func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > most {
		t.Errorf("took %d bytes, at most %d are right", took, most)
	}
}

// fuzzFormats passes data to each format, as a file and as a stream. It must end without a panic,
// and every error must have a kind.
func fuzzFormats(f *testing.F, seeds []string, formats ...Format) {
	for _, name := range seeds {
		f.Add(readFile(f, name))
	}
	opts := Options{Limits: Limits{Record: 1 << 20, Depth: 16}}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range formats {
			for _, in := range []Input{fileInput("in", data), streamInput("in", data)} {
				if d := decodeWith(format, in, opts); d.err != nil && !knownKind(d.err) {
					t.Errorf("%s: %v is of no kind", format.Name, d.err)
				}
			}
		}
	})
}

// checkDamage reads data cut off at some fifty positions, and with a bit flipped at each of them.
// Formats need not detect this, but must end in bounded memory.
func checkDamage(t *testing.T, f Format, data []byte) {
	t.Helper()
	opts := Options{Limits: Limits{Record: 1 << 20, Depth: 16}}
	step := max(1, len(data)/50)
	for i := 0; i < len(data); i += step {
		damaged := bytes.Clone(data)
		damaged[i] ^= 1 << (i % 8)
		for _, in := range []Input{fileInput("in", damaged), fileInput("in", data[:i])} {
			checkMemory(t, 64<<20, func() {
				if d := decodeWith(f, in, opts); d.err != nil && !knownKind(d.err) {
					t.Errorf("byte %d: %v is of no kind", i, d.err)
				}
			})
		}
	}
}
