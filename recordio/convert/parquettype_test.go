package convert

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func parquetSource(t *testing.T, name string) Source {
	return memorySource(name, readFile(t, "testdata/parquet/"+name+".parquet"))
}

// TestParquetColumns reads the columns of files, and compares all files with the first.
func TestParquetColumns(t *testing.T) {
	flat := "i64 int, u8 int, u64 int, f32 float32, f64 float, s text, b bytes, t bool, d date, f16 float16, " +
		"ts timestamp[us], dec decimal(10,2), fsb bytes, dict text, null null, dur duration[s]"
	nested := "l list<int>, ll list<list<text>>, st struct<x int, y text>, ls list<struct<k int>>, m map<int>, fl list<float32>[2]"
	for _, tt := range []struct {
		files    string
		encoding string
		want     string // columns, or how the error ends
	}{
		{"flat", "", flat},
		{"nested", "", nested},
		{"none gzip zstd", "json", "x int, s text"},
		{"gzip flat", "", `flat: column 1 is "i64", that of the first input "x": the records would be of two kinds`},
		{"gzip", "raw", ""},
	} {
		var sources []Source
		for name := range strings.FieldsSeq(tt.files) {
			sources = append(sources, parquetSource(t, name))
		}
		for _, jobs := range []int{1, 4} {
			_, stats, err := payloads(t, Options{Encoding: tt.encoding, Jobs: jobs}, sources...)
			got := columnsText(stats.Columns)
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("%s: %s, want %s", tt.files, got, tt.want)
			}
		}
	}
}

func columnsText(columns []Column) string {
	var parts []string
	for _, c := range columns {
		parts = append(parts, c.Name+" "+c.Type)
	}
	return strings.Join(parts, ", ")
}

func TestSameColumns(t *testing.T) {
	first := []Column{{Name: "a", Type: "int"}, {Name: "b", Type: "null"}, {Name: "c", Type: "list<null>"}}
	for _, tt := range []struct {
		now         []Column
		want, after string // the error, and the columns that are known then
	}{
		{first, "", "a int, b null, c list<null>"},
		{[]Column{{Name: "a", Type: "null"}, {Name: "b", Type: "text"}, {Name: "c", Type: "list<int>"}}, "", "a int, b text, c list<int>"},
		{[]Column{{Name: "a", Type: "text"}, {Name: "b", Type: "null"}, {Name: "c", Type: "null"}}, `column "a" is text, in the inputs before int`, ""},
		{[]Column{{Name: "a", Type: "int"}, {Name: "b", Type: "float32[2,3]"}, {Name: "c", Type: "null"}}, "", "a int, b float32[2,3], c null"},
		{first[:2], `column "c" of the first input is missing`, ""},
		{append(slices.Clone(first), Column{Name: "d", Type: "int"}), `column "d" is not in the first input`, ""},
		{[]Column{first[1], first[0], first[2]}, `column 1 is "b", that of the first input "a"`, ""},
	} {
		known := slices.Clone(first)
		err := sameColumns(known, tt.now)
		if got := strings.TrimSuffix(fmt.Sprint(err), ": the records would be of two kinds"); got != tt.want && (err != nil || tt.want != "") {
			t.Errorf("%s: %v, want %s", columnsText(tt.now), err, tt.want)
		}
		if got := columnsText(known); err == nil && got != tt.after {
			t.Errorf("%s: known is %s, want %s", columnsText(tt.now), got, tt.after)
		}
	}
}

// TestSameArrays holds arrays to their elements and to the number of their axes.
func TestSameArrays(t *testing.T) {
	for _, tt := range []struct{ first, now, want string }{
		{"float32[2,3]", "float32[2,4]", "float32[2,?]"},
		{"float32[?,3]", "float32[2,4]", "float32[?,?]"},
		{"datetime64[s][2]", "datetime64[s][3]", "datetime64[s][?]"},
		{"list<int>[2]", "list<int>[3]", "list<int>[?]"},
		{"float32[2]", "float64[2]", ""},
		{"float32[2]", "float32[2,1]", ""},
		{"datetime64[s]", "datetime64[ms]", ""},
		{"datetime64[s][2]", "datetime64[ms][2]", ""},
		{"float32", "float32[2]", ""},
		{"U5[2]", "U12[2]", "U12[2]"},
		{"S5", "S2", "S5"},
		{"U5", "S5", ""},
		{"V5", "V6", ""},
		{"decimal(10,2)", "decimal(12,2)", "decimal"},
		{"decimal", "decimal(12,2)", "decimal"},
	} {
		known := []Column{{Name: "a", Type: tt.first}}
		err := sameColumns(known, []Column{{Name: "a", Type: tt.now}})
		if (err != nil) != (tt.want == "") || err == nil && known[0].Type != tt.want {
			t.Errorf("%s and %s are %v, %v", tt.first, tt.now, known, err)
		}
	}
}

// TestFieldText checks that the names of fields cannot be taken for types.
func TestFieldText(t *testing.T) {
	for name, want := range map[string]string{"a": "a int", "größe_2": "größe_2 int", "a b": `"a b" int`, `x>, "y`: `"x\u003e, \"y" int`, "": `"" int`} {
		if got := fieldText(name, "int"); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
