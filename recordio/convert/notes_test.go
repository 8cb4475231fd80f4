package convert

import (
	"fmt"
	"path"
	"strings"
	"testing"
)

// told returns the columns and the notes of a run, one a line.
func told(stats Stats) string {
	var b strings.Builder
	if len(stats.Columns) > 0 {
		fmt.Fprintln(&b, columnsText(stats.Columns))
	}
	for _, n := range stats.Notes {
		fmt.Fprintln(&b, n.Text)
	}
	return b.String()
}

// TestTypes reads inputs with every type that some payload lacks: it is in the columns or in a
// note.
func TestTypes(t *testing.T) {
	for _, tt := range []struct{ file, encoding, want string }{
		{"npy/types.npz", "", `d datetime64[D], t timedelta64[us][2], f float32, s U2[2], b S2, c complex128, i int16[3,4]
`},
		{"npy/dates.npy", "", ` struct<d datetime64[25s], t timedelta64[ms]>[2]
`},
		{"npy/datetime.npy", "", ` datetime64[s]
`},
		{"npy/unicode.npy", "", ` U2
`},
		{"npy/f4.npy", "json", ` float32[3]
`},
		{"npy/f4.npy", "raw", `an array of float32 becomes its bytes, without dtype and shape
`},
		{"parquet/arrow.parquet", "", `d duration[ms], z timestamp[ns,Europe/Berlin], l list<duration[us]>, s struct<a int, b struct<c duration[us]>>, m map<duration[us]>, n list<struct<key duration[us], value timestamp[ns,Europe/Berlin]>>, f list<list<duration[us]>[2]>, e text
`},
		{"pickle/types.pickle", "", `date: datetime64[s] becomes int64, the count of its unit; NaT is -9223372036854775808
dates: an array of datetime64[25s] becomes int64, the count of its unit; NaT is -9223372036854775808
span: an array of timedelta64[ms] becomes int64, the count of its unit; NaT is -9223372036854775808
any: an array of timedelta64 becomes int64, the count of its unit; NaT is -9223372036854775808
text: an array of text becomes lists, without the dtype of numpy
bytes: an array of bytes becomes lists, without the dtype of numpy
str: text of numpy becomes a plain value
set: a set becomes an array
frozen: a set becomes an array
z: a complex number becomes an array of complex128 without axes
half: float32 of numpy becomes a plain value
n: int8 of numpy becomes a plain value
rows: an array of struct<a int32, b float64> becomes lists of maps
array: a bytearray becomes bytes
ordered: an OrderedDict becomes a map
ints: keys of a dict that are integers become text
nested[]: a tuple becomes an array
[1]: a set becomes an array
`},
		{"pickle/types.pickle", "pickle", `date: datetime64[s] becomes int64, the count of its unit; NaT is -9223372036854775808
dates: an array of datetime64[25s] becomes int64, the count of its unit; NaT is -9223372036854775808
span: an array of timedelta64[ms] becomes int64, the count of its unit; NaT is -9223372036854775808
any: an array of timedelta64 becomes int64, the count of its unit; NaT is -9223372036854775808
text: an array of text becomes lists, without the dtype of numpy
bytes: an array of bytes becomes lists, without the dtype of numpy
str: text of numpy becomes a plain value
set: a set becomes an array
frozen: a set becomes an array
z: a complex number becomes an array of complex128 without axes
half: float32 of numpy becomes a plain value
half: float32 becomes a float of Python, of the same value
n: int8 of numpy becomes a plain value
rows: an array of struct<a int32, b float64> becomes lists of maps
array: a bytearray becomes bytes
ordered: an OrderedDict becomes a map
ints: keys of a dict that are integers become text
nested[]: a tuple becomes an array
[1]: a set becomes an array
`},
		{"pickle/housing-4.pickle", "", ""},
		{"pickle/housing-4.pickle", "json", `[0]: an array of float64 becomes lists of numbers, without its dtype
[1]: an array of float64 becomes lists of numbers, without its dtype
`},
		{"pickle/py3-arrays-4.pickle", "json", `an array of float32 becomes lists of numbers, without its dtype
an array of int16 becomes lists of numbers, without its dtype
float64 of numpy becomes a plain value
int64 of numpy becomes a plain value
bool of numpy becomes a plain value
float32 of numpy becomes a plain value
float32 becomes the shortest number that reads back as the same float32
an array of bytes becomes lists, without the dtype of numpy
[0]: bytes become text, in base64
[1]: bytes become text, in base64
an array of uint8 becomes lists of numbers, without its dtype
uint8 of numpy becomes a plain value
an array of text becomes lists, without the dtype of numpy
`},
		{"tfrecord/examples.tfrecord", "json", `weights: an array of float32 becomes lists of numbers, without its dtype
label: an array of int64 becomes lists of numbers, without its dtype
image[]: bytes become text, in base64
name[]: bytes become text, in base64
`},
		{"tfrecord/examples.tfrecord", "pickle", ""},
		{"tfrecord/examples.tfrecord", "", ""},
		{"webdataset/samples.tar", "json", `cls: bytes become text, in base64
json: bytes become text, in base64
left.txt: bytes become text, in base64
png: bytes become text, in base64
`},
	} {
		_, stats, err := payloads(t, Options{Encoding: tt.encoding}, memorySource(path.Base(tt.file), readFile(t, "testdata/"+tt.file)))
		if got := told(stats); err != nil || got != tt.want {
			t.Errorf("%s as %s: %v\n%s\nwant\n%s", tt.file, tt.encoding, err, got, tt.want)
		}
	}
}
