package recordio

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// partsReader has only some parts of a file.
type partsReader struct {
	file  []byte
	parts []Extent
}

func (r *partsReader) ReadAt(p []byte, off int64) (int, error) {
	for _, e := range r.parts {
		if off >= e.Off && off+int64(len(p)) <= e.Off+e.Len {
			return copy(p, r.file[off:]), nil
		}
	}
	return 0, fmt.Errorf("%d bytes at %d are in no extent", len(p), off)
}

// TestExtents reads random records from their extents alone.
func TestExtents(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	recs := someRecords(rnd, 3000, 2000)
	for _, comp := range []Compressor{None, Snappy, Zstd} {
		file, x := indexed(t, recs, WriterOptions{Compressor: comp, ChunkBytes: 1 << 20})
		for range 20 {
			r := &partsReader{file: file, parts: []Extent{{0, int64(len(file))}}}
			f, err := Open(r, int64(len(file)), OpenOptions{Index: x})
			if err != nil {
				t.Fatal(err)
			}
			numbers := []int64{-1, f.Len()}
			for range 1 + rnd.IntN(3) {
				numbers = append(numbers, rnd.Int64N(f.Len()))
			}
			r.parts = f.Extents(numbers)
			total := int64(0)
			for _, e := range r.parts {
				total += e.Len
			}
			if total >= int64(len(file)) {
				t.Errorf("%v: %d bytes of %d for %d records", comp, total, len(file), len(numbers)-2)
			}
			err = f.ReadBatch(numbers[2:], func(k int, rec []byte) error {
				if !bytes.Equal(rec, recs[numbers[2:][k]]) {
					return errors.New("another record")
				}
				return nil
			})
			if err != nil {
				t.Fatalf("%v, records %v: %v", comp, numbers, err)
			}
		}
	}
}
