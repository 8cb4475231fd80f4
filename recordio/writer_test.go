package recordio

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"syscall"
	"testing"
)

// full is a disk with space for n bytes.
type full struct{ n int }

func (d *full) Write(p []byte) (int, error) {
	if k := min(d.n, len(p)); k < len(p) {
		d.n = 0
		return k, syscall.ENOSPC
	}
	d.n -= len(p)
	return len(p), nil
}

func TestErrorsOfAWriterStick(t *testing.T) {
	for _, c := range Compressors() {
		for _, workers := range []int{1, 2} {
			w := NewWriter(&full{n: 500}, WriterOptions{Path: "f", Compressor: c, ChunkBytes: 100, Parallelism: workers})
			var first error
			for first == nil {
				first = w.Write([]byte("0123456789"))
			}
			if !errors.Is(first, syscall.ENOSPC) || !errors.Is(first, IO) {
				t.Errorf("%v: %v", c, first)
			}
			again := w.Write([]byte("x"))
			if again != first || w.Write(nil) != first || w.Flush() != first || w.Close() != first {
				t.Errorf("%v: the error does not stick: %v", c, again)
			}
		}
	}
}

func TestTheFullDiskIsNamed(t *testing.T) {
	w := NewWriter(&full{n: 30}, WriterOptions{Path: "data/train-00001", ChunkBytes: 1})
	for range 3 {
		w.Write([]byte("a"))
	}
	want := "data/train-00001: chunk 1 at byte 30: input or output failed: no space left on device"
	if err := w.Close(); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestSingleRecords gives each record a chunk; empty ones in a row share one, since they do not
// pass the limit.
func TestSingleRecords(t *testing.T) {
	recs := [][]byte{[]byte("a"), []byte("bc"), {}, {}, []byte("d")}
	for _, workers := range []int{1, 2} {
		w := NewWriter(io.Discard, WriterOptions{Compressor: Snappy, ChunkBytes: SingleRecords, Parallelism: workers})
		for _, rec := range recs {
			if err := w.Write(rec); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil || w.Stats().Chunks != 4 {
			t.Errorf("%d workers: %d chunks, %v", workers, w.Stats().Chunks, err)
		}
	}
}

func TestCloseTwice(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{Compressor: Snappy, Parallelism: 2})
	if err := w.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	size := out.Len()
	if err := w.Write([]byte("b")); !errors.Is(err, Closed) || w.Close() != nil || out.Len() != size {
		t.Errorf("Write after Close: %v", err)
	}
}

func TestWriteCopies(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{})
	buf := []byte("first")
	w.Write(buf)
	copy(buf, "SECND")
	w.Write(buf)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	equal(t, "records", scanAll(t, out.Bytes(), ScanOptions{}), [][]byte{[]byte("first"), []byte("SECND")})
}

func TestIndexAndStats(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{ChunkBytes: 2, Index: KeepIndex})
	for _, rec := range []string{"", "", "a", "", "bcd"} {
		if err := w.Write([]byte(rec)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := WriterStats{Records: 5, RecordBytes: 4, Chunks: 2, FileBytes: 64}
	if w.Stats() != want {
		t.Errorf("Stats are %+v, want %+v", w.Stats(), want)
	}
	x, err := w.Index()
	if err != nil || len(x.chunks) != 2 || x.chunks[0].Offset != 0 || x.chunks[0].Records != 4 || x.chunks[1].Offset != 37 || x.chunks[1].First != 4 {
		t.Errorf("the index has %+v, %v", x, err)
	}
}

func TestOptionsOfAWriterAreChecked(t *testing.T) {
	for _, c := range []struct {
		opts WriterOptions
		kind Kind
	}{
		{WriterOptions{Compressor: 3}, Unsupported},
		{WriterOptions{ChunkBytes: SingleRecords - 1}, Invalid},
		{WriterOptions{ChunkBytes: 2 << 30}, Invalid},
		{WriterOptions{Index: KeepIndex, Offset: 1}, Invalid},
	} {
		w := NewWriter(&bytes.Buffer{}, c.opts)
		if err := w.Write(nil); !errors.Is(err, c.kind) || !errors.Is(w.Close(), c.kind) {
			t.Errorf("%+v: %v, want %v", c.opts, err, c.kind)
		}
	}
}

// TestChunksAreReadable checks that the lengths of tiny records do not make a chunk larger than
// readers accept by default.
func TestChunksAreReadable(t *testing.T) {
	w := NewWriter(io.Discard, WriterOptions{ChunkBytes: 128 << 20, Index: KeepIndex})
	if w.maxData >= DefaultMaxChunkBytes {
		t.Errorf("chunks of %d bytes; readers take %d", w.maxData, DefaultMaxChunkBytes)
	}
	w.maxData = 100
	for range 1000 {
		if err := w.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	x, err := w.Index()
	if err != nil || len(x.chunks) != 50 || slices.ContainsFunc(x.chunks, func(c ChunkInfo) bool { return c.RawBytes != 100 }) {
		t.Errorf("%+v, %v; want 50 chunks of 100 bytes", x, err)
	}
}

func TestEmptyRecordsDoNotGatherWithoutEnd(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{ChunkBytes: 10})
	for range 1<<20 + 1 {
		if err := w.Write(nil); err != nil {
			t.Fatal(err)
		}
	}
	if w.Stats().Chunks != 1 {
		t.Errorf("%d chunks are written, want 1", w.Stats().Chunks)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// A chunk that is not compressed is put together without copying it over and over.
func TestAChunkGrowsSeldom(t *testing.T) {
	rec := make([]byte, 1<<20)
	got := allocated(func() {
		w := NewWriter(io.Discard, WriterOptions{})
		for range 40 {
			if err := w.Write(rec); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	})
	if most := uint64(DefaultChunkBytes + DefaultChunkBytes/2); got > most {
		t.Errorf("%d MiB are allocated for chunks of %d MiB, at most %d are due", got>>20, DefaultChunkBytes>>20, most>>20)
	}
}
