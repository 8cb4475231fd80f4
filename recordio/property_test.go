package recordio

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// someRecords returns n records of 0 to most bytes, some of which compress.
func someRecords(rnd *rand.Rand, n, most int) [][]byte {
	recs := make([][]byte, n)
	for i := range recs {
		rec := make([]byte, rnd.IntN(most+1)*rnd.IntN(2))
		if rnd.IntN(2) == 0 {
			for k := range rec {
				rec[k] = "abcde fgh\n"[rnd.IntN(10)]
			}
		} else {
			for k := range rec {
				rec[k] = byte(rnd.Uint32())
			}
		}
		recs[i] = rec
	}
	return recs
}

// shapes are sets of records and limits in which the paths of the code differ.
func shapes() map[string]func(*rand.Rand) ([][]byte, int) {
	return map[string]func(*rand.Rand) ([][]byte, int){
		"none":         func(*rand.Rand) ([][]byte, int) { return [][]byte{}, 0 },
		"empty":        func(*rand.Rand) ([][]byte, int) { return make([][]byte, 1000), 100 },
		"small":        func(r *rand.Rand) ([][]byte, int) { return someRecords(r, 3000, 100), 0 },
		"small chunks": func(r *rand.Rand) ([][]byte, int) { return someRecords(r, 3000, 100), 1000 },
		"one a chunk":  func(r *rand.Rand) ([][]byte, int) { return someRecords(r, 200, 300), 1 },
		"larger":       func(r *rand.Rand) ([][]byte, int) { return someRecords(r, 100, 5000), 2000 },
		"over blocks":  func(r *rand.Rand) ([][]byte, int) { return someRecords(r, 40, 700<<10), 4 << 20 },
	}
}

func equal(t *testing.T, what string, got, want [][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d records, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("%s: record %d has %d bytes, want other %d", what, i, len(got[i]), len(want[i]))
		}
	}
}

func TestEveryWayOfReadingAgrees(t *testing.T) {
	for name, shape := range shapes() {
		for _, c := range Compressors() {
			t.Run(fmt.Sprint(name, " ", c), func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(1, uint64(c)))
				recs, limit := shape(rnd)
				opts := WriterOptions{Compressor: c, ChunkBytes: limit}
				data := write(t, recs, opts)
				opts.Parallelism = 3
				if !bytes.Equal(write(t, recs, opts), data) {
					t.Error("the output depends on Parallelism")
				}
				equal(t, "scan", scanAll(t, data, ScanOptions{}), recs)
				equal(t, "parallel scan", scanAll(t, data, ScanOptions{Parallelism: 3}), recs)
				opts.Index = EmbedIndex
				embedded := write(t, recs, opts)
				equal(t, "scan with embedded index", scanAll(t, embedded, ScanOptions{}), recs)
				built, err := BuildIndex(bytes.NewReader(data), ScanOptions{})
				if err != nil {
					t.Fatal(err)
				}
				readAtRandom(t, rnd, data, recs, OpenOptions{Index: built})
				readAtRandom(t, rnd, data, recs, OpenOptions{})
				readAtRandom(t, rnd, embedded, recs, OpenOptions{Parallelism: 2})
			})
		}
	}
}

func readAtRandom(t *testing.T, rnd *rand.Rand, data []byte, recs [][]byte, opts OpenOptions) {
	t.Helper()
	f, err := Open(bytes.NewReader(data), int64(len(data)), opts)
	if err != nil {
		t.Fatal(err)
	}
	if f.Len() != int64(len(recs)) {
		t.Fatalf("Len is %d, want %d", f.Len(), len(recs))
	}
	if len(recs) == 0 {
		return
	}
	batch := make([]int64, 50)
	for k := range batch {
		i := rnd.IntN(len(recs))
		batch[k] = int64(i)
		got, err := f.ReadRecord(int64(i), []byte("x"))
		if err != nil || !bytes.Equal(got, append([]byte("x"), recs[i]...)) {
			t.Fatalf("record %d: %d bytes, %v", i, len(got), err)
		}
	}
	seen := 0
	err = f.ReadBatch(batch, func(k int, rec []byte) error {
		if seen++; !bytes.Equal(rec, recs[batch[k]]) {
			return fmt.Errorf("record %d differs", batch[k])
		}
		return nil
	})
	if err != nil || seen != len(batch) {
		t.Fatalf("ReadBatch: %d of %d, %v", seen, len(batch), err)
	}
	lo := rnd.IntN(len(recs))
	hi := lo + rnd.IntN(len(recs)-lo+1)
	var got [][]byte
	for rec, err := range f.Range(int64(lo), int64(hi)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, slices.Clone(rec))
	}
	equal(t, "range", got, recs[lo:hi])
}

func TestIndexSurvivesStorage(t *testing.T) {
	for _, c := range Compressors() {
		recs := someRecords(rand.New(rand.NewPCG(2, 2)), 500, 3000)
		var out bytes.Buffer
		w := NewWriter(&out, WriterOptions{Compressor: c, ChunkBytes: 100 << 10, Index: KeepIndex})
		for _, rec := range recs {
			if err := w.Write(rec); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		kept, err := w.Index()
		if err != nil {
			t.Fatal(err)
		}
		built, err := BuildIndex(bytes.NewReader(out.Bytes()), ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(kept.encode(), built.encode()) {
			t.Errorf("%v: the Writer's index is not that of BuildIndex", c)
		}
		var stored bytes.Buffer
		if err := WriteIndex(&stored, kept); err != nil {
			t.Fatal(err)
		}
		x, err := ReadIndex(&stored, int64(out.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Matches(bytes.NewReader(out.Bytes()), int64(out.Len())); err != nil {
			t.Error(err)
		}
	}
}
