package convert

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

func arrowSource(t *testing.T, name string) Source {
	return memorySource(name, readFile(t, "testdata/arrow/"+name))
}

// TestArrowIsParquet checks that a table gives the same records and columns as Arrow and as Parquet.
func TestArrowIsParquet(t *testing.T) {
	for file, table := range map[string]string{"flat.feather": "flat", "flat.arrow": "flat", "nested.feather": "nested", "arrow.feather": "arrow"} {
		for _, encoding := range []string{"msgpack", "json"} {
			want, wantStats, err := payloads(t, Options{Encoding: encoding}, parquetSource(t, table))
			if err != nil && encoding == "msgpack" {
				t.Fatal(err)
			}
			got, stats, gotErr := payloads(t, Options{Encoding: encoding}, arrowSource(t, file))
			if (err == nil) != (gotErr == nil) {
				t.Errorf("%s: %v, as Parquet %v", file, gotErr, err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s as %s: other records than of Parquet:\n%q\n%q", file, encoding, got, want)
			}
			if got, want := columnsText(stats.Columns), columnsText(wantStats.Columns); got != want && err == nil {
				t.Errorf("%s: columns\n%s, of Parquet\n%s", file, got, want)
			}
		}
	}
}

func TestArrowTypes(t *testing.T) {
	for _, in := range []Input{fileInput("types.arrow", readFile(t, "testdata/arrow/types.arrow")), streamInput("types.arrow", readFile(t, "testdata/arrow/types.arrow"))} {
		got := decodeWith(arrowFormat, in, Options{})
		if want := []string{
			`{"word":"a","map":{"k":1},"pairs":[{"key":1,"value":1}],"large":"x","day":0,"dec":null}`,
			`{"word":"b","map":{},"pairs":[],"large":null,"day":null,"dec":"1.00"}`,
			`{"word":null,"map":null,"pairs":null,"large":"y","day":1,"dec":"2.00"}`,
		}; !slices.Equal(got.records, want) {
			t.Errorf("got  %s\nwant %s", strings.Join(got.records, "\n     "), strings.Join(want, "\n     "))
		}
		if len(got.bad) != 1 || !strings.Contains(got.bad[0], `column "day": a date of 86400001 ms, which are not whole days`) {
			t.Errorf("bad records %q", got.bad)
		}
	}
	_, stats, err := payloads(t, Options{Bad: BadPolicy{Policy: Skip}}, arrowSource(t, "types.arrow"))
	if got, want := columnsText(stats.Columns), "word text, map map<int>, pairs list<struct<key int, value int>>, large text, day date, dec decimal(40,2)"; got != want || err != nil {
		t.Errorf("columns %s, %v, want %s", got, err, want)
	}
}

// TestSameNames checks that columns, or fields, of one name are refused: a reader would take the value of
// one of them.
func TestSameNames(t *testing.T) {
	number := arrow.PrimitiveTypes.Int64
	pair := arrow.StructOf(arrow.Field{Name: "n", Type: number}, arrow.Field{Name: "n", Type: number})
	for want, fields := range map[string][]arrow.Field{
		`the schema has two columns "n"`:           {{Name: "n", Type: number}, {Name: "n", Type: number}},
		`column "s": a struct has two columns "n"`: {{Name: "s", Type: arrow.ListOf(pair)}},
	} {
		var b bytes.Buffer
		if err := ipc.NewWriter(&b, ipc.WithSchema(arrow.NewSchema(fields, nil))).Close(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := payloads(t, Options{}, memorySource("x.arrow", b.Bytes())); !errors.Is(err, ErrUnsupported) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("arrow: %v, want %s", err, want)
		}
	}
	n := schema.NewInt64Node("n", parquet.Repetitions.Required, -1)
	s := schema.MustGroup(schema.NewGroupNode("s", parquet.Repetitions.Required, schema.FieldList{n, n}, -1))
	for _, fields := range []schema.FieldList{{n, n}, {s}} {
		var b bytes.Buffer
		w := file.NewParquetWriter(&b, schema.MustGroup(schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := payloads(t, Options{}, memorySource("x.parquet", b.Bytes())); !errors.Is(err, ErrUnsupported) || !strings.HasSuffix(err.Error(), `the schema has two columns "n"`) {
			t.Errorf("parquet: %v", err)
		}
	}
}

// TestArrowViews checks that types that are not read have the way out in their error.
func TestArrowViews(t *testing.T) {
	got := decodeWith(arrowFormat, fileInput("views.arrow", readFile(t, "testdata/arrow/views.arrow")), Options{})
	if !errors.Is(got.err, ErrUnsupported) || !strings.HasPrefix(got.err.Error(), "a column of string or binary views: cast it to string") {
		t.Errorf("%v", got.err)
	}
}

// TestDamagedArrow cuts and changes files: an error or a note tells, and nothing panics.
func TestDamagedArrow(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 5))
	var before, after runtime.MemStats
	for _, name := range []string{"flat.feather", "flat.arrow", "nested.feather", "arrow.feather", "types.arrow"} {
		whole := readFile(t, "testdata/arrow/"+name)
		full := decodeWith(arrowFormat, streamInput(name, whole), Options{})
		for cut := 0; cut < len(whole); cut += 1 + len(whole)/40 {
			d, err := arrowFormat.open(streamInput(name, whole[:cut]), Options{})
			if err == nil {
				enc := newJSON(Limits{})
				for err == nil {
					enc.Reset()
					var bad *RecordError
					if err = d.Next(enc); errors.As(err, &bad) {
						err = nil
					}
				}
				told := d.(*arrowDecoder).told.take()
				if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrDamaged) && len(told) == 0 {
					t.Fatalf("%s, cut at %d of %d: %v", name, cut, len(whole), err)
				}
			} else if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrDamaged) {
				t.Fatalf("%s, cut at %d: %v", name, cut, err)
			}
		}
		for i := range 2000 {
			spoilt := bytes.Clone(whole)
			for range 1 + rnd.IntN(4) {
				spoilt[rnd.IntN(len(spoilt))] ^= 1 << rnd.IntN(8)
			}
			if i%2 == 0 { // in a description
				spoilt[8+rnd.IntN(min(1000, len(spoilt)-8))] ^= 1 << rnd.IntN(8)
			}
			start := time.Now()
			runtime.ReadMemStats(&before)
			got := decodeWith(arrowFormat, streamInput(name, spoilt), Options{Limits: Limits{Record: 1 << 20}})
			runtime.ReadMemStats(&after)
			if took, bytes := time.Since(start), after.TotalAlloc-before.TotalAlloc; took > 10*time.Second || bytes > 256<<20 {
				t.Errorf("%s: %v and %d bytes; %v", name, took, bytes, got.err)
			}
			if len(got.records) > 100*(1+len(full.records)) {
				t.Errorf("%s: %d records", name, len(got.records))
			}
		}
	}
}

func FuzzArrow(f *testing.F) { fuzzFormats(f, glob(f, "testdata/arrow/*"), arrowFormat) }
