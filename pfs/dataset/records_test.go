package dataset

import (
	"errors"
	"slices"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
)

// TestTranscoderJSON checks that a record of JSON is one sample, whatever its white space. A file of
// JSON Lines has none for an empty line, and two for two lines.
func TestTranscoderJSON(t *testing.T) {
	transcode := func(record string) (got []string, err error) {
		records := func(yield func(recordfile.Record, error) bool) {
			for i, text := range []string{"[0]", record, "[9]"} {
				if !yield(recordfile.Record{Name: recordfile.RecordName("x", int64(i)), Data: []byte(text)}, nil) {
					return
				}
			}
		}
		err = Transcoder{From: "json", To: "json"}.Run(t.Context(), records, func(rec []byte) error {
			got = append(got, string(rec))
			return nil
		})
		return got, err
	}
	got, err := transcode("\n{\n \"a\": 1\r\n}\n")
	if want := []string{"[0]", `{"a":1}`, "[9]"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for _, record := range []string{"", " ", "\n", "\ufeff", "1\n2", "\"a\nb\""} {
		if got, err := transcode(record); err == nil {
			t.Errorf("%q: got %q", record, got)
		}
	}
	if _, err := transcode(""); !errors.Is(err, pfs.Integrity) || err.Error() != "x: record 1: it has no value of json" {
		t.Error(err)
	}
}
