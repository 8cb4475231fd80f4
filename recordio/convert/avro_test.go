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
)

// TestAvro reads a file of fastavro in each codec.
func TestAvro(t *testing.T) {
	want := []string{
		`{"id":-1,"n":0,"ok":true,"f":0.0,"d":0.0,"fd":null,"s":"中0","b":"","z":null,"fx":"YWJj","e":"RED","l":[1,null,0],"m":{"k":0},"r":{"x":0,"t":"eHl6"},"r2":{"x":7,"t":"dXZ3"},"day":17310,"tm":3723004,"tu":3723000004,"ts":1495612365123,"tl":1495612365123456,"dec":"0.00","dfx":"12345.678","u":"00000000-0000-0000-0000-000000000000"}`,
		`{"id":0,"n":null,"ok":false,"f":0.5,"d":null,"fd":null,"s":"中1","b":"/w==","z":null,"fx":"YWJj","e":"BLUE","l":[1,null,1],"m":{"k":1},"r":{"x":-1,"t":"eHl6"},"r2":null,"day":17310,"tm":3723004,"tu":3723000004,"ts":1495612365123,"tl":1495612365123456,"dec":"-1.25","dfx":"12345.678","u":"00000000-0000-0000-0000-000000000001"}`,
	}
	for _, codec := range []string{"null", "deflate", "snappy", "zstandard"} {
		got := decodeWith(avroFormat, streamInput("x", readFile(t, "testdata/avro/"+codec+".avro")), Options{})
		if got.err != nil || len(got.bad) > 0 || len(got.records) != 5 || !slices.Equal(got.records[:2], want) {
			t.Errorf("%s: %v %v\n%s", codec, got.err, got.bad, strings.Join(got.records, "\n"))
		}
	}
	_, stats, err := payloads(t, Options{}, memorySource("x", readFile(t, "testdata/avro/null.avro")))
	if got, want := columnsText(stats.Columns), "id int, n int, ok bool, f float32, d float, fd float, s text, b bytes, z null, fx bytes, e text, l list<int>, m map<int>, "+
		"r struct<x int, t bytes>, r2 struct<x int, t bytes>, day date, tm time[ms], tu time[us], ts timestamp[ms,UTC], tl timestamp[us], dec decimal(10,2), dfx decimal(18,3), u text"; got != want || err != nil {
		t.Errorf("columns\n%s, %v, want\n%s", got, err, want)
	}
}

func TestAvroUnread(t *testing.T) {
	for name, want := range map[string]string{"union": `field "v": a union of int and text`, "itself": `field "v": the type N, which contains itself`} {
		got := decodeWith(avroFormat, fileInput("x", readFile(t, "testdata/avro/"+name+".avro")), Options{})
		if !errors.Is(got.err, ErrUnsupported) || !strings.Contains(got.err.Error(), want) {
			t.Errorf("%s: %v", name, got.err)
		}
	}
	codec := bytes.Replace(readFile(t, "testdata/avro/null.avro"), []byte("\x08null"), []byte("\x08bzip"), 1)
	if got := decodeWith(avroFormat, fileInput("x", codec), Options{}); !errors.Is(got.err, ErrUnsupported) {
		t.Errorf("another codec: %v", got.err)
	}
}

// TestAvroText checks that a text that is not UTF-8 is a malformed record, and the next one is read.
func TestAvroText(t *testing.T) {
	data := bytes.Replace(readFile(t, "testdata/avro/null.avro"), []byte("中2"), []byte("\xff\xff\xff2"), 1)
	got := decodeWith(avroFormat, fileInput("x", data), Options{})
	if len(got.records) != 4 || len(got.bad) != 1 || !strings.Contains(got.bad[0], "record 3: a text that is not UTF-8") || got.err != nil {
		t.Errorf("%d records, %q, %v", len(got.records), got.bad, got.err)
	}
}

// TestDamagedAvro cuts and changes files: an error tells of each cut, and nothing panics or takes much memory.
func TestDamagedAvro(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 1))
	var before, after runtime.MemStats
	for _, codec := range []string{"null", "deflate", "snappy", "zstandard"} {
		whole := readFile(t, "testdata/avro/"+codec+".avro")
		full := decodeWith(avroFormat, streamInput("x", whole), Options{})
		ends := map[int]bool{} // of the header and of blocks
		for at := 0; ; {
			i := bytes.Index(whole[at:], []byte("0123456789abcdef"))
			if i < 0 {
				break
			}
			at += i + avroSyncSize
			ends[at] = true
		}
		for cut := range whole {
			got := decodeWith(avroFormat, streamInput("x", whole[:cut]), Options{})
			if !ends[cut] && !errors.Is(got.err, ErrTruncated) {
				t.Fatalf("%s, cut at %d of %d: %v", codec, cut, len(whole), got.err)
			}
			if len(got.records) > 0 && !slices.Equal(got.records, full.records[:len(got.records)]) {
				t.Fatalf("%s, cut at %d: other records", codec, cut)
			}
		}
		for range 2000 {
			spoilt := bytes.Clone(whole)
			for range 1 + rnd.IntN(4) {
				spoilt[rnd.IntN(len(spoilt))] ^= 1 << rnd.IntN(8)
			}
			start := time.Now()
			runtime.ReadMemStats(&before)
			got := decodeWith(avroFormat, streamInput("x", spoilt), Options{Limits: Limits{Record: 1 << 20}})
			runtime.ReadMemStats(&after)
			if took, bytes := time.Since(start), after.TotalAlloc-before.TotalAlloc; took > 10*time.Second || bytes > 256<<20 {
				t.Errorf("%s: %v and %d bytes; %v", codec, took, bytes, got.err)
			}
			if codec == "snappy" && got.err == nil && len(got.records) == len(full.records) && !slices.Equal(got.records, full.records) && bytes.Equal(spoilt[:1500], whole[:1500]) {
				t.Error("a block with a checksum gave other records")
			}
		}
	}
}

func FuzzAvro(f *testing.F) { fuzzFormats(f, glob(f, "testdata/avro/*.avro"), avroFormat) }
