package recordio

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"testing"
	"testing/iotest"
)

func TestAnyReaderWillDo(t *testing.T) {
	recs := someRecords(rand.New(rand.NewPCG(7, 7)), 100, 300)
	file := write(t, recs, WriterOptions{Compressor: Snappy, ChunkBytes: 4000})
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"one byte": iotest.OneByteReader, "half": iotest.HalfReader, "data with the error": iotest.DataErrReader,
	} {
		s := NewScanner(wrap(bytes.NewReader(file)), ScanOptions{})
		var got [][]byte
		for s.Scan() {
			got = append(got, bytes.Clone(s.Bytes()))
		}
		if s.Err() != nil {
			t.Fatal(name, s.Err())
		}
		equal(t, name, got, recs)
	}
}

func TestAReaderThatFails(t *testing.T) {
	recs := someRecords(rand.New(rand.NewPCG(8, 8)), 100, 300)
	file := write(t, recs, WriterOptions{ChunkBytes: 4000})
	gone := errors.New("the disk is gone")
	for _, p := range policies {
		for _, workers := range []int{1, 2} {
			s := NewScanner(io.MultiReader(bytes.NewReader(file[:5000]), iotest.ErrReader(gone)), ScanOptions{Path: "f", Policy: p, Parallelism: workers})
			n := 0
			for s.Scan() {
				n++
			}
			if !errors.Is(s.Err(), IO) || !errors.Is(s.Err(), gone) || n == 0 {
				t.Errorf("%v: %d records, then %v", p, n, s.Err())
			}
		}
	}
	s := NewScanner(stuck{}, ScanOptions{})
	if s.Scan() || !errors.Is(s.Err(), io.ErrNoProgress) {
		t.Errorf("a reader that returns nothing: %v", s.Err())
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestEmptyRecordsAreRecords(t *testing.T) {
	recs := [][]byte{{}, {}, []byte("a"), {}, []byte("b"), {}}
	for _, c := range Compressors() {
		equal(t, c.String(), scanAll(t, write(t, recs, WriterOptions{Compressor: c, ChunkBytes: 1}), ScanOptions{}), recs)
	}
}

func TestPositions(t *testing.T) {
	file := write(t, [][]byte{[]byte("a"), []byte("b"), []byte("c")}, WriterOptions{ChunkBytes: 2})
	s := NewScanner(bytes.NewReader(file), ScanOptions{Offset: 1000})
	for i, want := range []int64{1000, 1000, 1030} {
		if !s.Scan() || s.Chunk().Offset != want {
			t.Errorf("record %d stands in the chunk at %d, want %d", i, s.Chunk().Offset, want)
		}
	}
	if c := s.Chunk(); c.Offset != 1030 || c.First != 2 || c.Records != 1 || c.Size != 25 {
		t.Errorf("Chunk is %+v", c)
	}
	for range 2 {
		if s.Scan() || s.Err() != nil || len(s.Bytes()) != 0 {
			t.Errorf("behind the end: %q, %v", s.Bytes(), s.Err())
		}
	}
}

func TestLeavingEarly(t *testing.T) {
	file := write(t, someRecords(rand.New(rand.NewPCG(9, 9)), 500, 300), WriterOptions{Compressor: Snappy, ChunkBytes: 1000})
	for _, workers := range []int{1, 2} {
		n := 0
		for range all(bytes.NewReader(file), ScanOptions{Parallelism: workers}) {
			if n++; n == 10 {
				break
			}
		}
		s := NewScanner(bytes.NewReader(file), ScanOptions{Parallelism: workers})
		s.Scan()
		for range 2 {
			if err := s.Close(); err != nil || s.Scan() || s.Err() != nil {
				t.Errorf("Close: %v; after it: %v", err, s.Err())
			}
		}
	}
}

func TestAllEndsWithTheError(t *testing.T) {
	file := write(t, [][]byte{[]byte("a"), []byte("b")}, WriterOptions{ChunkBytes: 1})
	file[len(file)-1] ^= 1
	var recs []string
	var last error
	for rec, err := range all(bytes.NewReader(file), ScanOptions{}) {
		if last = err; err == nil {
			recs = append(recs, string(rec))
		}
	}
	if len(recs) != 1 || recs[0] != "a" || !errors.Is(last, Checksum) {
		t.Errorf("records %q, then %v", recs, last)
	}
}

func TestOptionsOfAScannerAreChecked(t *testing.T) {
	for _, opts := range []ScanOptions{{MaxChunkBytes: -1}, {MaxChunkBytes: 1 << 40}, {Policy: 9}} {
		s := NewScanner(bytes.NewReader(nil), opts)
		if s.Scan() || !errors.Is(s.Err(), Invalid) || s.Close() != nil {
			t.Errorf("%+v: %v", opts, s.Err())
		}
	}
}

// However long the file, reading and decoding use the same few buffers.
func TestBuffersAreUsedAgain(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	rec := make([]byte, 1<<20) // random: no compressor makes it shorter
	for i := range rec {
		rec[i] = byte(rnd.Uint32())
	}
	recs := make([][]byte, 64)
	for i := range recs {
		recs[i] = rec[rnd.IntN(len(rec)/2):]
	}
	for _, c := range Compressors() {
		file := write(t, recs, WriterOptions{Compressor: c, ChunkBytes: 1})
		for _, workers := range []int{1, 2} {
			var n int
			var err error
			got := allocated(func() { n, err = count(file, ScanOptions{Parallelism: workers}) })
			if n != len(recs) || err != nil {
				t.Fatalf("%v, %d workers: %d records, %v", c, workers, n, err)
			}
			if most := uint64(40 << 20); got > most {
				t.Errorf("%v, %d workers: %d MiB are allocated for 64 chunks of up to 1 MiB, at most %d are due", c, workers, got>>20, most>>20)
			}
		}
	}
}

// all returns the records of r in order. Each is valid until the next step and must not be changed.
// A pair with an error is the last one.
func all(r io.Reader, opts ScanOptions) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		s := NewScanner(r, opts)
		defer s.Close()
		for s.Scan() {
			if !yield(s.Bytes(), nil) {
				return
			}
		}
		if err := s.Err(); err != nil {
			yield(nil, err)
		}
	}
}
