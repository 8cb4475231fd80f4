package recordio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
)

// indexed returns a file and its index.
func indexed(t *testing.T, recs [][]byte, opts WriterOptions) ([]byte, *Index) {
	t.Helper()
	file := write(t, recs, opts)
	x, err := BuildIndex(bytes.NewReader(file), ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return file, x
}

func TestAnIndexOfAnotherFileIsRefused(t *testing.T) {
	recs := someRecords(rand.New(rand.NewPCG(10, 10)), 300, 200)
	file, x := indexed(t, recs, WriterOptions{Compressor: Snappy, ChunkBytes: 2000})
	longer := append(bytes.Clone(file), file...)
	if _, err := Open(bytes.NewReader(longer), int64(len(longer)), OpenOptions{Path: "f", Index: x}); !errors.Is(err, Stale) {
		t.Errorf("a longer file: %v", err)
	}
	for name, at := range map[string]int{"first": 5, "last": int(x.chunks[len(x.chunks)-1].Offset) + 5} {
		other := bytes.Clone(file)
		other[at] ^= 1
		if _, err := Open(bytes.NewReader(other), int64(len(other)), OpenOptions{Index: x}); !errors.Is(err, Stale) {
			t.Errorf("the %s chunk is another: %v", name, err)
		}
	}
	middle := bytes.Clone(file)
	middle[x.chunks[2].Offset+5] ^= 1
	f, err := Open(bytes.NewReader(middle), int64(len(middle)), OpenOptions{Path: "f", Index: x})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadRecord(x.chunks[2].First, nil); !errors.Is(err, Stale) {
		t.Errorf("a record of a chunk that is another: %v", err)
	}
	if err := x.Matches(bytes.NewReader(middle), int64(len(middle))); !errors.Is(err, Stale) {
		t.Errorf("Matches: %v", err)
	}
}

// An index that is whole and wrong gives errors or right records, never others.
func TestALyingIndex(t *testing.T) {
	for _, c := range Compressors() {
		recs := someRecords(rand.New(rand.NewPCG(11, 11)), 200, 900)
		for i := range recs {
			recs[i] = append(recs[i], 'x')
		}
		file, x := indexed(t, recs, WriterOptions{Compressor: c, ChunkBytes: 64 << 10})
		lie := *x
		lie.parts = append([]part{}, x.parts...)
		ends := append([]uint32{}, x.parts[0].ends...)
		for k := 10; k < len(ends)-1; k++ {
			ends[k]++
		}
		lie.parts[0].ends = ends
		f, err := Open(bytes.NewReader(file), int64(len(file)), OpenOptions{Index: &lie})
		if err != nil {
			t.Fatal(err)
		}
		for i := range recs {
			got, err := f.ReadRecord(int64(i), nil)
			if err == nil && !bytes.Equal(got, recs[i]) {
				t.Fatalf("%v: record %d is another", c, i)
			}
			if i == 15 && err == nil {
				t.Errorf("%v: the lie about record %d is not noticed", c, i)
			}
		}
	}
}

func TestDamageUnderAnIndex(t *testing.T) {
	for _, c := range Compressors() {
		recs := someRecords(rand.New(rand.NewPCG(12, 12)), 200, 900)
		file, x := indexed(t, recs, WriterOptions{Compressor: c})
		for at := headerSize + 15; at < len(file); at += 4999 {
			bad := bytes.Clone(file)
			bad[at] ^= 4
			f, err := Open(bytes.NewReader(bad), int64(len(bad)), OpenOptions{Path: "f", Index: x})
			if err != nil {
				t.Fatal(err)
			}
			failed := 0
			for i := range recs {
				got, err := f.ReadRecord(int64(i), nil)
				switch {
				case err != nil:
					failed++
				case !bytes.Equal(got, recs[i]):
					t.Fatalf("%v, byte %d: record %d is another", c, at, i)
				}
			}
			if failed == 0 {
				t.Errorf("%v, byte %d: not noticed", c, at)
			}
		}
	}
}

func TestADamagedIndexIsRefused(t *testing.T) {
	file, x := indexed(t, someRecords(rand.New(rand.NewPCG(13, 13)), 50, 90), WriterOptions{ChunkBytes: 500})
	stored := x.encode()
	for i := range stored {
		bad := bytes.Clone(stored)
		bad[i] ^= 1
		if _, err := ReadIndex(bytes.NewReader(bad), int64(len(file))); err == nil {
			t.Errorf("byte %d of the index: not noticed", i)
		}
		if _, err := ReadIndex(bytes.NewReader(stored[:i]), int64(len(file))); err == nil {
			t.Errorf("an index of %d bytes of %d: not noticed", i, len(stored))
		}
	}
}

// TestAnIndexIsNoLongerThanItsFileMakesIt reads huge invalid indexes: bytes that are not an index,
// one of another file, or one longer than possible for a file of this size. They take no memory.
func TestAnIndexIsNoLongerThanItsFileMakesIt(t *testing.T) {
	file, x := indexed(t, [][]byte{[]byte("record")}, WriterOptions{})
	size := int64(len(file))
	for _, c := range []struct {
		name  string
		head  []byte
		size  int64
		want  error
		bytes int64 // read at most
	}{
		{"zeros", nil, size, Malformed, 1 << 10},
		{"another file", x.encode(), size + 1, Stale, 1 << 10},
		{"too long", x.encode(), size, Limit, 65 << 20},
	} {
		r := &counting{r: io.MultiReader(bytes.NewReader(c.head), zeros{})}
		if _, err := ReadIndex(r, c.size); !errors.Is(err, c.want) || r.n > c.bytes {
			t.Errorf("%s: %v after %d bytes, want %v after %d", c.name, err, r.n, c.want, c.bytes)
		}
	}
}

// counting counts the bytes read from r.
type counting struct {
	r io.Reader
	n int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func TestAnEmbeddedIndexIsOptional(t *testing.T) {
	recs := someRecords(rand.New(rand.NewPCG(14, 14)), 300, 200)
	plainFile := write(t, recs, WriterOptions{ChunkBytes: 2000})
	file := write(t, recs, WriterOptions{ChunkBytes: 2000, Index: EmbedIndex})
	if !bytes.HasPrefix(file, plainFile) {
		t.Error("the embedded index changes what is before it")
	}
	for at := len(plainFile); at < len(file); at += 11 {
		bad := bytes.Clone(file)
		bad[at] ^= 1
		f, err := Open(bytes.NewReader(bad), int64(len(bad)), OpenOptions{})
		if err != nil {
			continue // its header is damaged, and with it the chain
		}
		if got, err := f.ReadRecord(123, nil); err != nil || !bytes.Equal(got, recs[123]) {
			t.Errorf("byte %d of the embedded index: %v", at, err)
		}
	}
	both := append(bytes.Clone(file), file...) // the index in the middle is of no account
	readAtRandom(t, rand.New(rand.NewPCG(1, 1)), append(both, plainFile...), append(append(append([][]byte{}, recs...), recs...), recs...), OpenOptions{})
}

func TestAFileIsReadConcurrently(t *testing.T) {
	recs := someRecords(rand.New(rand.NewPCG(15, 15)), 500, 2000)
	for _, c := range Compressors() {
		file, x := indexed(t, recs, WriterOptions{Compressor: c, ChunkBytes: 50 << 10})
		for i, opts := range []OpenOptions{{Index: x}, {}, {}} {
			f, err := Open(bytes.NewReader(file), int64(len(file)), opts)
			if err != nil {
				t.Fatal(err)
			}
			f.cache.most -= i / 2
			var g sync.WaitGroup
			errs := make([]error, 4)
			for n := range errs {
				g.Go(func() { errs[n] = readSome(f, recs, uint64(n)) })
			}
			g.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Errorf("%v: %v", c, err)
			}
		}
	}
}

func readSome(f *File, recs [][]byte, seed uint64) error {
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		i := rnd.IntN(len(recs))
		got, err := f.ReadRecord(int64(i), nil)
		if err != nil || !bytes.Equal(got, recs[i]) {
			return fmt.Errorf("record %d: %d bytes, %w", i, len(got), err)
		}
	}
	return nil
}

func TestRecordsThatAreNotThere(t *testing.T) {
	file := write(t, [][]byte{[]byte("a")}, WriterOptions{})
	f, err := Open(bytes.NewReader(file), int64(len(file)), OpenOptions{Path: "f"})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int64{-1, 1} {
		want := fmt.Sprintf("f: record %d: no such record: there are 1", i)
		if i < 0 {
			want = "f: no such record: there are 1"
		}
		if _, err := f.ReadRecord(i, nil); !errors.Is(err, OutOfRange) || err.Error() != want {
			t.Errorf("record %d: %v, want %s", i, err, want)
		}
		if err := f.ReadBatch([]int64{0, i}, nil); !errors.Is(err, OutOfRange) {
			t.Errorf("batch with %d: %v", i, err)
		}
	}
	for _, r := range [][2]int64{{-1, 1}, {0, 2}, {1, 0}} {
		for _, err := range f.Range(r[0], r[1]) {
			if !errors.Is(err, OutOfRange) {
				t.Errorf("range %v: %v", r, err)
			}
		}
	}
}

func TestABatchEndsWithTheErrorOfItsUser(t *testing.T) {
	file := write(t, [][]byte{[]byte("a"), []byte("b")}, WriterOptions{})
	f, err := Open(bytes.NewReader(file), int64(len(file)), OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	n := 0
	if err := f.ReadBatch([]int64{0, 1}, func(int, []byte) error { n++; return enough }); err != enough || n != 1 {
		t.Errorf("%d calls, %v", n, err)
	}
}
