package convert

import (
	"fmt"
	"strings"
	"testing"
)

// TestParquetPartitions reads files below directories that tell columns.
func TestParquetPartitions(t *testing.T) {
	data := readFile(t, "testdata/parquet/none.parquet")
	for _, tt := range []struct{ name, want, columns string }{
		{"a.parquet", `{"x":0,"s":"row 0"}`, "x int, s text"},
		{"sales/year=2024/month=01/a.parquet", `{"x":0,"s":"row 0","year":"2024","month":"01"}`, "x int, s text, year text, month text"},
		{"d=a%20b%2Fc/a.parquet", `{"x":0,"s":"row 0","d":"a b/c"}`, "x int, s text, d text"},
		{"d=__HIVE_DEFAULT_PARTITION__/e=/a.parquet", `{"x":0,"s":"row 0","d":null,"e":""}`, "x int, s text, d text, e text"},
		{"d=%zz/=1/d=2/a.parquet", `{"x":0,"s":"row 0","d":"%zz"}`, "x int, s text, d text"},
		{"x=7/a=b.parquet", `{"x":0,"s":"row 0"}`, "x int, s text"},
	} {
		got, stats, err := payloads(t, Options{Encoding: "json"}, memorySource(tt.name, data))
		if err != nil || got[0] != tt.want || columnsText(stats.Columns) != tt.columns {
			t.Errorf("%s: %s of %s, %v; want %s of %s", tt.name, got[0], columnsText(stats.Columns), err, tt.want, tt.columns)
		}
	}
	_, _, err := payloads(t, Options{}, memorySource("d=1/a.parquet", data), memorySource("b.parquet", data))
	if want := `b.parquet: column "d" of the first input is missing: the records would be of two kinds`; fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if got, _, err := payloads(t, Options{Encoding: "raw"}, memorySource("d=1/a.parquet", data)); err != nil || !strings.HasPrefix(got[0], "row 0") {
		t.Errorf("raw: got %q, %v", got, err)
	}
}
