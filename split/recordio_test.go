package split_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/split"
)

var _ split.RecordWriter = (*recordio.Writer)(nil)

// Example splits a stream with an unknown number of records into files named -of-: their names are
// in the plan.
func Example() {
	pattern, err := split.ParsePattern("housing_train-%05d-of-%05d", split.OfLast)
	if err != nil {
		fmt.Println(err)
		return
	}
	var files []*bytes.Buffer
	w, err := split.NewWriter(split.Records(10), pattern, func(int, string) (split.RecordWriter, error) {
		files = append(files, &bytes.Buffer{})
		return recordio.NewWriter(files[len(files)-1], recordio.WriterOptions{Compressor: recordio.Snappy}), nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 25 {
		if err := w.Write(fmt.Appendf(nil, "record %d", i)); err != nil {
			fmt.Println(err)
			return
		}
	}
	plan, err := w.Close()
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, f := range plan.Files {
		records := recordio.NewScanner(files[i], recordio.ScanOptions{})
		records.Scan()
		fmt.Printf("%s: %d records from %q on\n", f.Name, f.Records, records.Bytes())
	}
	// Output:
	// housing_train-00000-of-00002: 10 records from "record 0" on
	// housing_train-00001-of-00002: 10 records from "record 10" on
	// housing_train-00002-of-00002: 5 records from "record 20" on
}

// TestPaddleFiles reads back the files that the reference's convert would have written: the same
// records in the same files, the last one empty.
func TestPaddleFiles(t *testing.T) {
	pattern, err := split.ParsePattern("x-%05d", split.OfCount)
	if err != nil {
		t.Fatal(err)
	}
	var files []*bytes.Buffer
	w, err := split.NewWriter(split.PaddleConvert(4), pattern, func(int, string) (split.RecordWriter, error) {
		files = append(files, &bytes.Buffer{})
		return recordio.NewWriter(files[len(files)-1], recordio.WriterOptions{Compressor: recordio.Snappy}), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		if err := w.Write([]byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"\x00\x01\x02\x03\x04", "\x05\x06\x07\x08", ""}
	for i, f := range files {
		var got []byte
		s := recordio.NewScanner(f, recordio.ScanOptions{})
		for s.Scan() {
			got = append(got, s.Bytes()...)
		}
		if s.Err() != nil || i >= len(want) || string(got) != want[i] {
			t.Errorf("file %d: got %q, %v, want all of %q", i, got, s.Err(), want)
		}
	}
	if files[2].Len() != 0 {
		t.Errorf("the file without records has %d bytes, want 0", files[2].Len())
	}
}
