package convert

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestNPY(t *testing.T) {
	tests := []struct {
		name string
		want []string
	}{
		{"f4", []string{`[0.0,1.0,2.0]`, `[3.0,4.0,5.0]`}},
		{"f4-fortran", []string{`[[0.0,1.0,2.0,3.0],[4.0,5.0,6.0,7.0],[8.0,9.0,10.0,11.0]]`, `[[12.0,13.0,14.0,15.0],[16.0,17.0,18.0,19.0],[20.0,21.0,22.0,23.0]]`}},
		{"i2-big", []string{`1`, `-2`, `300`}},
		{"scalar", []string{`7`}},
		{"empty", nil},
		{"bool", []string{`true`, `false`}},
		{"bytes", []string{`"YWI="`, `""`, `"eHl6"`}},
		{"unicode", []string{`"中文"`, `"a"`}},
		{"half", []string{`0.5`, `-2.0`, `65504.0`}},
		{"datetime", []string{`1495612365`, `-9223372036854775808`}},
		{"version2", []string{`0`, `1`, `2`}},
		{"version3", []string{`{"中":1}`}},
		{"struct", []string{
			`{"id":1,"x":2.5,"s":"YWI=","m":[[1,2],[3,4]],"in":{"y":7}}`,
			`{"id":-1,"x":0.5,"s":"Yw==","m":[[5,6],[7,8]],"in":{"y":9}}`}},
		{"struct-aligned", []string{`{"a":1,"b":2.5}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := readFile(t, "testdata/npy/"+tt.name+".npy")
			checkRecords(t, decodeWith(npyFormat, fileInput("a.npy", data), Options{}), tt.want)
			checkRecords(t, decodeWith(npyFormat, streamInput("a.npy", data), Options{}), tt.want)
		})
	}
}

// npyWith makes an array whose header is text.
func npyWith(text, data string) []byte {
	head := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), byte(len(text)>>8))
	return append(append(head, text...), data...)
}

func TestNPYErrors(t *testing.T) {
	head := func(descr, shape string) string {
		return "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }"
	}
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "the input ends at offset 0, in the middle of the header of the array"},
		{"text", []byte("<html>404"), `not an array of numpy: it begins with "<html>40"`},
		{"version", []byte("\x93NUMPY\x09\x00xx"), "version 9 of the array format; 1 to 3 are known"},
		{"long header", []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), "a header of 4294967295 bytes; at most 1048576 are read"},
		{"objects", npyWith(head("'|O'", "(1,)"), "x"),
			`an array of Python objects (dtype "|O"), which only Python can read; save it with a dtype of its own`},
		{"dtype", npyWith(head("'<f16'", "(1,)"), "x"), `dtype "<f16" is not supported`},
		{"negative", npyWith(head("'<f4'", "(-1,)"), "x"), "-1 is not the length of an axis"},
		{"call", npyWith("__import__('os').system('id')", ""),
			`the header of the array is not understood from "__import__('os').sys" on`},
		{"nested", npyWith(strings.Repeat("(", 100), ""), "the header of the array nests deeper than 32"},
		{"rows", npyWith(head("'<f4'", "(1000000000000,)"), "1234"),
			"an array of 1000000000000 rows of 4 bytes, and only 4 bytes are left"},
		{"large rows", npyWith(head("'<f8'", "(1, 2000000000, 2000000000)"), ""),
			"rows of shape [2000000000 2000000000] of 8 bytes each are over the limit of 67108864 bytes for a record"},
		{"overflow", npyWith(head("'<f8'", "(9223372036854775807, 1)"), "12345678"),
			"an array of 9223372036854775807 rows of 8 bytes, and only 8 bytes are left"},
		{"rows of nothing", npyWith(head("'<f4'", "(1000000000, 0)"), ""),
			"an array of shape [1000000000 0] whose rows have no bytes; at most 1024 elements are read"},
		{"truncated", npyWith(head("'<f4'", "(2,)"), "1234567"), "an array of 2 rows of 4 bytes, and only 7 bytes are left"},
		{"more", npyWith(head("'|u1'", "(1,)"), "12"), "the input continues after the end of the array, at offset 68"},
		{"character", npyWith(head("'<U1'", "(2,)"), "a\x00\x00\x00\x00\xd8\x00\x00"), "record 2, offset 71: U+D800 in a text is not a character"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkMemory(t, 8<<20, func() {
				checkMessage(t, decodeWith(npyFormat, fileInput("a.npy", tt.data), Options{}), tt.want)
			})
		})
	}
	d := decodeWith(npyFormat, streamInput("a.npy", npyWith(head("'<f4'", "(2000000000,)"), "1234")), Options{})
	checkMessage(t, d, "the input ends at offset 80, in the middle of a row of the array")
}

// A Fortran array of many rows is gathered in blocks; from a stream it has to fit into memory.
func TestNPYFortran(t *testing.T) {
	const rows, columns = 3000, 7
	var data []byte
	for c := range columns {
		for r := range rows {
			data = append(data, byte(r), byte(r>>8), byte(c), 0)
		}
	}
	file := npyWith(fmt.Sprintf("{'descr': '<u2', 'fortran_order': True, 'shape': (%d, 2, %d)}", rows, columns), "")
	// Element (r, k, c) is at r + rows*(k + 2*c): build it from the planes above.
	plane := make([]byte, 0, len(data))
	for c := range columns {
		for k := range 2 {
			for r := range rows {
				at := 4*(c*rows+r) + 2*k
				plane = append(plane, data[at], data[at+1])
			}
		}
	}
	file = append(file, plane...)
	dec, err := npyFormat.open(fileInput("a.npy", file), Options{})
	if err != nil {
		t.Fatal(err)
	}
	enc := newJSON(Limits{})
	for r := range rows {
		if err := dec.Next(enc); err != nil {
			t.Fatal(err)
		}
		want := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("%d,", r), columns), ",")
		want = fmt.Sprintf("[[%s],[0,1,2,3,4,5,6]]", want)
		if got := string(enc.Append(nil)); got != want {
			t.Fatalf("row %d is %s, want %s", r, got, want)
		}
	}
	small := Options{Limits: Limits{Record: 1000}}
	checkMessage(t, decodeWith(npyFormat, streamInput("a.npy", file), small),
		"an array in Fortran order of more than 1000 bytes can only be read from a file that is not compressed")
}

func TestNPZ(t *testing.T) {
	want := []string{`{"x":[[0,1],[2,3]],"y":3}`, `{"x":[[4,5],[6,7]],"y":1}`, `{"x":[[8,9],[10,11]],"y":2}`}
	checkRecords(t, decodeWith(npzFormat, fileInput("a.npz", readFile(t, "testdata/npy/stored.npz")), Options{}), want)
	for i, name := range []string{"a", "b", "c"} {
		want[i] = strings.TrimSuffix(want[i], "}") + `,"name":"` + name + `"}`
	}
	packed := readFile(t, "testdata/npy/packed.npz")
	checkRecords(t, decodeWith(npzFormat, fileInput("a.npz", packed), Options{}), want)
	fortran := readFile(t, "testdata/npy/fortran.npz")
	checkRecords(t, decodeWith(npzFormat, fileInput("a.npz", fortran), Options{}), []string{`{"x":[0,1]}`, `{"x":[2,3]}`, `{"x":[4,5]}`})

	uneven := decodeWith(npzFormat, fileInput("a.npz", readFile(t, "testdata/npy/uneven.npz")), Options{})
	checkMessage(t, uneven, `array "x" has 3 rows, array "y" has 2: they make no samples`)
	checkMessage(t, decodeWith(npzFormat, streamInput("a.npz", packed), Options{}),
		"an .npz is read from its end, so not from a pipe and not inside gzip or zstd; decompress it into a file")
	checkMessage(t, decodeWith(npzFormat, fileInput("a.npz", packed[:100]), Options{}),
		"the archive: damaged, or not a zip archive")
}

func TestNPYDamage(t *testing.T) {
	checkDamage(t, npyFormat, readFile(t, "testdata/npy/struct.npy"))
	checkDamage(t, npzFormat, readFile(t, "testdata/npy/packed.npz"))
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no file matches %s: %v", pattern, err)
	}
	return names
}

func FuzzNPY(f *testing.F) { fuzzFormats(f, glob(f, "testdata/npy/*.npy"), npyFormat) }
func FuzzNPZ(f *testing.F) { fuzzFormats(f, glob(f, "testdata/npy/*.npz"), npzFormat) }

// TestNPZFlips flips a bit of each byte of the arrays: the checksum of the archive detects it, even
// if the flip changes the header of an array.
func TestNPZFlips(t *testing.T) {
	data := readFile(t, "testdata/npy/stored.npz")
	x := bytes.Index(data, []byte(npyMark))
	for i := x; i < x+140; i++ {
		data[i] ^= 1 << (i % 8)
		if d := decodeWith(npzFormat, fileInput("a.npz", data), Options{}); !errors.Is(d.err, ErrChecksum) {
			t.Errorf("byte %d: %v", i, d.err)
		}
		data[i] ^= 1 << (i % 8)
	}
}
