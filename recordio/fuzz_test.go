package recordio

import (
	"bytes"
	"testing"
)

// fuzzLimit keeps the fuzzer from spending its time on large chunks.
const fuzzLimit = 1 << 20

// seed adds the golden files that are not large, and files of the other dialects and of our own
// extensions.
func seed(f *testing.F) {
	for _, g := range goldens(f) {
		if len(g.data) < 30<<10 {
			f.Add(g.data)
		}
	}
	recs := [][]byte{[]byte("some text, some text, some text"), {}, []byte("x")}
	for _, w := range foreigners() {
		f.Add(w.file(f, recs))
	}
	f.Add(write(f, recs, WriterOptions{Compressor: Zstd, ChunkBytes: 1}))
	f.Add(write(f, recs, WriterOptions{Index: EmbedIndex}))
}

// FuzzScan reads arbitrary bytes under each policy. If fail reads to the end, the other policies,
// parallel and random reads, and a rewritten copy must give the same records.
func FuzzScan(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, file []byte) {
		opts := ScanOptions{MaxChunkBytes: fuzzLimit}
		n, err := count(file, opts)
		for _, p := range []Policy{Skip, Salvage} {
			opts.Policy = p
			more, damage := count(file, opts)
			if damage != nil || more < n || err == nil && more != n {
				t.Fatalf("%v: %d records, %v; fail: %d, %v", p, more, damage, n, err)
			}
		}
		opts.Parallelism = 2
		if same, _ := count(file, ScanOptions{MaxChunkBytes: fuzzLimit, Parallelism: 2}); same != n {
			t.Fatalf("in parallel: %d records, want %d", same, n)
		}
		if err != nil || n > 1000 {
			return
		}
		recs := scanAll(t, file, ScanOptions{MaxChunkBytes: fuzzLimit})
		equal(t, "written anew", scanAll(t, write(t, recs, WriterOptions{Compressor: Snappy}), ScanOptions{}), recs)
	})
}

// FuzzOpen reads records of arbitrary bytes at random, with the index found.
func FuzzOpen(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Open(bytes.NewReader(data), int64(len(data)), OpenOptions{MaxChunkBytes: fuzzLimit})
		if err != nil {
			return
		}
		want, _ := scan(data, ScanOptions{MaxChunkBytes: fuzzLimit})
		for i := int64(0); i < min(file.Len(), 20); i++ {
			got, err := file.ReadRecord(i, nil)
			if err == nil && i < int64(len(want)) && !bytes.Equal(got, want[i]) {
				t.Fatalf("record %d is %q, scanned %q", i, got, want[i])
			}
		}
	})
}

// FuzzReadIndex reads any index and uses it.
func FuzzReadIndex(f *testing.F) {
	data := write(f, [][]byte{[]byte("some text, some text"), {}, []byte("x")}, WriterOptions{Compressor: Snappy, ChunkBytes: 20})
	x, err := BuildIndex(bytes.NewReader(data), ScanOptions{})
	if err != nil {
		f.Fatal(err)
	}
	stored := x.encode()
	f.Add(stored[len(indexMagic) : len(stored)-4]) // the checksum would keep the fuzzer out
	f.Fuzz(func(t *testing.T, stored []byte) {
		x, err := decodeNumbers(stored)
		if err != nil {
			return
		}
		file, err := Open(bytes.NewReader(data), int64(len(data)), OpenOptions{Index: x, MaxChunkBytes: fuzzLimit})
		if err != nil {
			return
		}
		want := scanAll(t, data, ScanOptions{})
		for i := int64(0); i < min(file.Len(), 20); i++ {
			if got, err := file.ReadRecord(i, nil); err == nil && !bytes.Equal(got, want[i]) {
				t.Fatalf("record %d is %q, want %q", i, got, want[i])
			}
		}
	})
}

// FuzzTail finds the end of anything.
func FuzzTail(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		tail, err := FindTail(bytes.NewReader(data), int64(len(data)), ScanOptions{MaxChunkBytes: fuzzLimit})
		if err == nil && (tail.End < 0 || tail.End+tail.Torn != int64(len(data))) {
			t.Fatalf("%+v of %d bytes", tail, len(data))
		}
	})
}
