package convert

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParquet(t *testing.T) {
	flat := make([]string, 5)
	for i, v := range []struct{ i64, u64, f32, f64, s, b, t, f16, dict string }{
		{"1", "0", "0.5", "0.0", `"a"`, `"AP8="`, "true", "0.5", `"x"`},
		{"null", "1", "1.0", "0.1", `"中"`, `""`, "false", "1.0", `"y"`},
		{"-3", "2", "2.0", "0.2", "null", "null", "null", "2.0", `"x"`},
		{"4611686018427387904", "3", "3.0", "0.30000000000000004", `""`, `"eA=="`, "true", "3.0", "null"},
		{"5", "18446744073709551615", "null", "0.4", `"e"`, `"eQ=="`, "true", "4.0", `"y"`},
	} {
		flat[i] = fmt.Sprintf(`{"i64":%s,"u8":%d,"u64":%s,"f32":%s,"f64":%s,"s":%s,"b":%s,"t":%s,"d":17310,"f16":%s,`+
			`"ts":1495612365123456,"dec":"1.25","fsb":"YWJj","dict":%s,"null":null,"dur":7}`,
			v.i64, i, v.u64, v.f32, v.f64, v.s, v.b, v.t, v.f16, v.dict)
	}
	lists := []string{`{"l":[1],"m":{"a":1}}`, `{"l":null,"m":{"b":2}}`, `{"l":[2,3],"m":null}`, `{"l":[],"m":{}}`}
	tests := []struct {
		name string
		want []string
	}{
		{"flat", flat},      // three row groups
		{"pages-v1", lists}, // some pages have no values
		{"pages-v2", lists},
		{"empty", nil},
		{"nested", []string{
			`{"l":[1,2],"ll":[["a"],[]],"st":{"x":1,"y":"a"},"ls":[{"k":1}],"m":{"a":1},"fl":[1.5,2.0]}`,
			`{"l":[],"ll":null,"st":null,"ls":[],"m":{},"fl":[3.0,4.0]}`,
			`{"l":null,"ll":[],"st":{"x":null,"y":"b"},"ls":null,"m":null,"fl":null}`,
			`{"l":[3,null],"ll":[["b","c"]],"st":{"x":4,"y":null},"ls":[{"k":null},{"k":3}],"m":{"b":2,"c":null},"fl":[5.0,6.0]}`,
		}},
	}
	rows := make([]string, 300)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"x":%d,"s":"row %d"}`, i, i%7)
	}
	for _, codec := range []string{"none", "gzip", "zstd", "lz4", "brotli"} {
		tests = append(tests, struct {
			name string
			want []string
		}{codec, rows})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := readFile(t, "testdata/parquet/"+tt.name+".parquet")
			checkRecords(t, decodeWith(parquetFormat, fileInput("a.parquet", data), Options{}), tt.want)
			if f, err := Sniff(data, "x"); err != nil || f.Name != "parquet" {
				t.Errorf("Sniff finds %v, %v", f, err)
			}
		})
	}
}

// footerOf makes a file that is nothing but that footer.
func footerOf(footer string) []byte {
	b := append([]byte(parquetMark), footer...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(footer)))
	return append(b, parquetMark...)
}

// schemaOf makes a footer with elements of that many children.
func schemaOf(children ...int) string {
	s := "\x15\x02" + "\x19\xfc" + string(binary.AppendUvarint(nil, uint64(len(children)))) // version; list of structs
	for _, n := range children {
		s += "\x48\x01a" + "\x15" + string(binary.AppendUvarint(nil, uint64(n)<<1)) + "\x00" // name; number of children
	}
	return s + "\x16\x00\x19\x0c\x00" // rows; row groups
}

func TestParquetErrors(t *testing.T) {
	data := readFile(t, "testdata/parquet/flat.parquet")
	page := bytes.Clone(data)
	page[4] ^= 0xff // of the header of the first page
	deep := make([]int, 1000)
	for i := range len(deep) - 1 {
		deep[i] = 1
	}
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "not a Parquet file: 0 bytes are too few for one"},
		{"text", []byte("hello, this is text"), "the file does not end with PAR1: it was never finished, or it is cut off"},
		{"truncated", data[:len(data)-1], "the file does not end with PAR1: it was never finished, or it is cut off"},
		{"encrypted", append(bytes.Clone(data[:len(data)-4]), "PARE"...), "an encrypted Parquet file"},
		{"footer", []byte("PAR1\xff\xff\xff\xffPAR1"), "a footer of 4294967295 bytes in a file of 12"},
		{"list", footerOf("\x15\x02\x19\xfc\xff\xff\xff\xff\x0f"), "the footer is damaged"},
		{"binary", footerOf("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "the footer is damaged"},
		{"nested", footerOf(strings.Repeat("\x1c", 1000)), "the footer is damaged"},
		{"nested maps", footerOf("\xfb" + strings.Repeat("\x01\x3b\x00", 1000) + "\x00\x00"), "the footer is damaged"}, // one pair: a byte, a map
		{"children", footerOf(schemaOf(1<<31-1, 0)), "element 0 of the schema has 2147483647 children, and only 1 follow"},
		{"deep", footerOf(schemaOf(deep...)), "a schema that nests deeper than 256"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkMemory(t, 8<<20, func() {
				checkMessage(t, decodeWith(parquetFormat, fileInput("a.parquet", tt.data), Options{}), tt.want)
			})
		})
	}
	checkMessage(t, decodeWith(parquetFormat, streamInput("a.parquet", data), Options{}),
		"a Parquet file is read from its end, so not from a pipe and not inside gzip or zstd; decompress it into a file")
	if d := decodeWith(parquetFormat, fileInput("a.parquet", page), Options{}); d.err == nil || !strings.Contains(d.err.Error(), "row group 1 of 3") {
		t.Errorf("a damaged page ends with %v", d.err)
	}
	small := decodeWith(parquetFormat, fileInput("a.parquet", readFile(t, "testdata/parquet/gzip.parquet")), Options{Limits: Limits{Record: 300}})
	if !knownKind(small.err) {
		t.Errorf("pages over the limit end with %v", small.err)
	}
}

func TestParquetDecimal(t *testing.T) {
	for _, tt := range []struct {
		bytes string
		scale int32
		want  string
	}{
		{"\x7d", 2, `"1.25"`}, {"\x83", 2, `"-1.25"`}, {"\x05", 3, `"0.005"`}, {"\xff", 1, `"-0.1"`}, {"", 0, `"0"`}, {"\x01\x00", 0, `"256"`},
	} {
		enc := newJSON(Limits{})
		if err := giveBigDecimal(enc, []byte(tt.bytes), tt.scale); err != nil {
			t.Fatal(err)
		}
		if got := string(enc.Append(nil)); got != tt.want {
			t.Errorf("% x with scale %d is %s, want %s", tt.bytes, tt.scale, got, tt.want)
		}
	}
}

func TestParquetDamage(t *testing.T) {
	for _, name := range []string{"nested", "zstd", "gzip", "flat"} {
		checkDamage(t, parquetFormat, readFile(t, "testdata/parquet/"+name+".parquet"))
	}
}

func FuzzParquet(f *testing.F) { fuzzFormats(f, glob(f, "testdata/parquet/*.parquet"), parquetFormat) }

// isDamage reports whether err means that the input was damaged.
func isDamage(err error) bool {
	return errors.Is(err, ErrChecksum) || errors.Is(err, ErrTruncated) || errors.Is(err, ErrDamaged)
}

// inPages reports for each byte of a file without indexes whether it is of a page, and not of the
// header of one.
func inPages(t *testing.T, data []byte) []bool {
	in := make([]bool, len(data)-8-int(binary.LittleEndian.Uint32(data[len(data)-8:])))
	for at := 4; at < len(in); {
		w := newThriftReader(data[at:])
		page, err := w.pageHeader()
		if err != nil {
			t.Fatal(err)
		}
		for at = len(data) - w.rest.Len(); page.size > 0; page.size-- {
			in[at] = true
			at++
		}
	}
	return in
}

// TestParquetFlips flips bits in pages and their headers. A flip in a page with a checksum is a
// mismatch at a position. Other detected flips are damage. In headers, which have no checksum, all
// flips that change a record are detected, except lengths of levels in version 2.
func TestParquetFlips(t *testing.T) {
	opts := Options{Limits: Limits{Record: 1 << 20}}
	for _, name := range []string{"sums-v1", "sums-v2", "flat", "nested", "gzip", "zstd", "lz4", "brotli", "pages-v1", "pages-v2"} {
		data := readFile(t, "testdata/parquet/"+name+".parquet")
		want := decodeWith(parquetFormat, fileInput("a.parquet", data), opts)
		if want.err != nil || len(want.records) == 0 {
			t.Fatalf("%s: %d records, %v", name, len(want.records), want.err)
		}
		pages, summed := inPages(t, data), strings.HasPrefix(name, "sums-")
		for i := 4; i < len(pages); i++ {
			if i%3 != 0 || (pages[i] || !summed) && i%7 != 0 {
				continue
			}
			data[i] ^= 1 << (i % 8)
			d := decodeWith(parquetFormat, fileInput("a.parquet", data), opts)
			data[i] ^= 1 << (i % 8)
			text := fmt.Sprint(d.err)
			switch {
			case pages[i] && summed && !(errors.Is(d.err, ErrChecksum) && strings.Contains(text, "row group ") &&
				strings.Contains(text, "column ") && strings.Contains(text, "page at offset ")):
				t.Errorf("%s: a flip in the page at byte %d: %v", name, i, d.err)
			case d.err != nil && !isDamage(d.err):
				t.Errorf("%s: a flip at byte %d: %v is not damage", name, i, d.err)
			case d.err == nil && name == "sums-v1" && !slices.Equal(d.records, want.records):
				t.Errorf("%s: a flip in the header at byte %d makes a wrong record", name, i)
			}
		}
	}
}
