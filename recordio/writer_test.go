package recordio

import (
	"bytes"
	"errors"
	"io"
	"syscall"
	"testing"
)

// full is a disk with room for n bytes.
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
			again := w.Append(func(dst []byte) []byte { return append(dst, 'x') })
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

func TestHookAndStats(t *testing.T) {
	var out bytes.Buffer
	var chunks []ChunkInfo
	w := NewWriter(&out, WriterOptions{ChunkBytes: 2, Offset: 100, OnChunk: func(c ChunkInfo) { chunks = append(chunks, c) }})
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
	if len(chunks) != 2 || chunks[0].Offset != 100 || chunks[0].Records != 4 || chunks[1].Offset != 137 || chunks[1].First != 4 {
		t.Errorf("the hook got %+v", chunks)
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
	w := NewWriter(&bytes.Buffer{}, WriterOptions{})
	if err := w.Append(func([]byte) []byte { return nil }); !errors.Is(err, Invalid) {
		t.Errorf("an encode that returns nothing: %v", err)
	}
}

// TestAppendMisused gives back something else than what was lent, or uses the Writer from within:
// that is found before it replaces the records before.
func TestAppendMisused(t *testing.T) {
	for name, encode := range map[string]func(w *Writer, dst []byte) []byte{
		"other bytes": func(*Writer, []byte) []byte { return []byte(`{"as":"json.Marshal does"}`) },
		"record alone": func(_ *Writer, dst []byte) []byte {
			return append(dst, "a record that is long enough"...)[len(dst):]
		},
		"a write within":  func(w *Writer, dst []byte) []byte { w.Write([]byte("within")); return append(dst, "x"...) },
		"a flush within":  func(w *Writer, dst []byte) []byte { w.Flush(); return append(dst, "x"...) },
		"a close within":  func(w *Writer, dst []byte) []byte { w.Close(); return append(dst, "x"...) },
		"nothing written": func(_ *Writer, dst []byte) []byte { return dst[:0] },
	} {
		for _, before := range []string{"", "the record before"} {
			w := NewWriter(io.Discard, WriterOptions{})
			if before != "" {
				if err := w.Write([]byte(before)); err != nil {
					t.Fatal(err)
				}
			}
			err := w.Append(func(dst []byte) []byte { return encode(w, dst) })
			if before == "" && name == "a flush within" {
				continue // which had nothing to do
			}
			if !errors.Is(err, Invalid) && !errors.Is(err, Closed) {
				t.Errorf("%s, behind %q: %v", name, before, err)
			}
			if again := w.Write(nil); again == nil {
				t.Errorf("%s, behind %q: the Writer goes on", name, before)
			}
		}
	}
}

// TestAppendPanics goes on with a Writer whose caller has got over a panic of encode.
func TestAppendPanics(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{})
	add := func(rec string, broken bool) {
		defer func() { _ = recover() }()
		w.Append(func(dst []byte) []byte {
			if dst = append(dst, rec...); broken {
				panic("encode")
			}
			return dst
		})
	}
	add("a", false)
	add("lost", true)
	add("b", false)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := scanAll(t, out.Bytes(), ScanOptions{}); len(got) != 2 || string(got[0]) != "a" || string(got[1]) != "b" {
		t.Errorf("got %q", got)
	}
}

// TestChunksAreReadable: lengths of tiny records do not make a chunk larger than readers take that
// are not told how large it is.
func TestChunksAreReadable(t *testing.T) {
	var largest, chunks int64
	opts := WriterOptions{ChunkBytes: 128 << 20, OnChunk: func(c ChunkInfo) { largest, chunks = max(largest, c.RawBytes), chunks+1 }}
	w := NewWriter(io.Discard, opts)
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
	if largest != 100 || chunks != 50 {
		t.Errorf("%d chunks of up to %d bytes, want 50 of 100", chunks, largest)
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
