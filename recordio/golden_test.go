package recordio

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// golden is a file that the reference wrote; see testdata/README.md.
type golden struct {
	File          string
	Compressor    string
	MaxChunk      int
	Records       int
	Chunks        int
	SHA256        string
	RecordsSHA256 string

	data []byte
}

func (g golden) compressor(tb testing.TB) Compressor {
	c, err := ParseCompressor(g.Compressor)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// goldens returns all golden files.
func goldens(tb testing.TB) []golden {
	tb.Helper()
	list, err := os.ReadFile("testdata/golden/index.json")
	if err != nil {
		tb.Fatal(err)
	}
	var gs []golden
	if err := json.Unmarshal(list, &gs); err != nil {
		tb.Fatal(err)
	}
	for i := range gs {
		if gs[i].data, err = os.ReadFile(filepath.Join("testdata/golden", gs[i].File)); err != nil {
			tb.Fatal(err)
		}
	}
	return gs
}

// scanAll returns copies of all records.
func scanAll(tb testing.TB, data []byte, opts ScanOptions) [][]byte {
	tb.Helper()
	recs, err := scan(data, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return recs
}

// scan returns copies of the records and the error that ended the scan.
func scan(data []byte, opts ScanOptions) ([][]byte, error) {
	s := NewScanner(bytes.NewReader(data), opts)
	defer s.Close()
	recs := [][]byte{}
	for s.Scan() {
		recs = append(recs, append([]byte{}, s.Bytes()...))
	}
	return recs, s.Err()
}

// write returns the file of these records.
func write(tb testing.TB, recs [][]byte, opts WriterOptions) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, opts)
	for _, rec := range recs {
		if err := w.Write(rec); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func sumRecords(recs [][]byte) string {
	h := sha256.New()
	for _, rec := range recs {
		fmt.Fprintf(h, "%d:%s", len(rec), rec)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestGoldenFilesAreRead(t *testing.T) {
	for _, g := range goldens(t) {
		for _, workers := range []int{1, 3} {
			recs := scanAll(t, g.data, ScanOptions{Parallelism: workers})
			if len(recs) != g.Records || sumRecords(recs) != g.RecordsSHA256 {
				t.Errorf("%s with %d workers: %d records, sum %s; want %d, %s", g.File, workers, len(recs), sumRecords(recs), g.Records, g.RecordsSHA256)
			}
		}
	}
}

func TestGoldenFilesAreReproduced(t *testing.T) {
	for _, g := range goldens(t) {
		c := g.compressor(t)
		recs := scanAll(t, g.data, ScanOptions{})
		for _, workers := range []int{1, 3} {
			out := write(t, recs, WriterOptions{Compressor: c, ChunkBytes: g.MaxChunk, Parallelism: workers})
			if c == Gzip {
				again := scanAll(t, out, ScanOptions{})
				if sumRecords(again) != g.RecordsSHA256 {
					t.Errorf("%s: other records are read from what was written", g.File)
				}
				continue
			}
			if sum(out) != g.SHA256 {
				t.Errorf("%s with %d workers: %d bytes, %s; want %d, %s", g.File, workers, len(out), sum(out), len(g.data), g.SHA256)
			}
		}
	}
}
