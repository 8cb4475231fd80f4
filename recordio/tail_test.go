package recordio

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// memory is a file in memory.
type memory struct {
	*bytes.Reader
	data []byte
}

func (m *memory) Truncate(n int64) error { m.data = m.data[:n]; return nil }

func TestRepairOfEveryTornLength(t *testing.T) {
	recs := someRecords(rand.New(rand.NewPCG(16, 16)), 40, 60)
	for _, c := range Compressors() {
		file := write(t, recs, WriterOptions{Compressor: c, ChunkBytes: 200})
		starts := append(chunkStarts(file), len(file))
		for n := range len(file) + 1 {
			torn := file[:n]
			f := &memory{bytes.NewReader(torn), bytes.Clone(torn)}
			tail, err := Repair(f, int64(n), ScanOptions{})
			if err != nil {
				t.Fatalf("%v, %d bytes: %v", c, n, err)
			}
			whole := 0
			for _, at := range starts {
				if at <= n {
					whole = at
				}
			}
			if tail.End != int64(whole) || tail.Torn != int64(n-whole) || len(f.data) != whole {
				t.Fatalf("%v, %d bytes: %+v, cut to %d, want %d", c, n, tail, len(f.data), whole)
			}
			if got := scanAll(t, f.data, ScanOptions{}); int64(len(got)) != tail.Records {
				t.Errorf("%v, %d bytes: %d records, Tail says %d", c, n, len(got), tail.Records)
			}
		}
	}
}

func TestAppendBehindATornTail(t *testing.T) {
	first, second := [][]byte{[]byte("a"), []byte("b")}, [][]byte{[]byte("c")}
	torn := append(write(t, first, WriterOptions{Index: EmbedIndex}), make([]byte, 300)...) // zeros of a crash
	f := &memory{bytes.NewReader(torn), torn}
	tail, err := Repair(f, int64(len(torn)), ScanOptions{})
	if err != nil || tail.Torn != 300 {
		t.Fatalf("%+v, %v", tail, err)
	}
	out := append(f.data, write(t, second, WriterOptions{Offset: tail.End})...)
	equal(t, "appended", scanAll(t, out, ScanOptions{}), append(first, second...))
}

func TestRepairLeavesOtherDamageAlone(t *testing.T) {
	recs := someRecords(rand.New(rand.NewPCG(17, 17)), 40, 60)
	file := write(t, recs, WriterOptions{ChunkBytes: 200})
	starts := chunkStarts(file)
	last := starts[len(starts)-1]
	large := bytes.Clone(file)
	large[starts[1]+14] ^= 0x10 // its size points beyond the end
	magicless := bytes.Clone(file)
	magicless[starts[1]] ^= 1
	for name, c := range map[string]struct {
		file []byte
		opts ScanOptions
		kind Kind
	}{
		"a size in the middle":            {large, ScanOptions{}, Truncated},
		"a magic in the middle":           {magicless, ScanOptions{}, Malformed},
		"one bit of the last payload":     {flipped(file, len(file)-1, 1), ScanOptions{}, Checksum},
		"one bit of the only chunk":       {flipped(file[:starts[1]], 25, 1), ScanOptions{}, Checksum},
		"the last chunk's checksum":       {flipped(file, last+4, 1), ScanOptions{}, Checksum},
		"the last chunk's record count":   {flipped(file, last+16, 1), ScanOptions{}, Malformed},
		"a larger size in the last chunk": {flipped(file, last+13, 0x80), ScanOptions{}, Truncated},
		"a smaller size there":            {flipped(file, last+12, 4), ScanOptions{}, Truncated},
		"the last magic":                  {flipped(file, last, 1), ScanOptions{}, Malformed},
		"a line break at the end":         {append(bytes.Clone(file), '\n'), ScanOptions{}, Truncated},
		"nothing but zeros":               {make([]byte, 300), ScanOptions{}, Malformed},
		"text":                            {[]byte("id,price\n1,2\n3,4\n5,6\n7,8"), ScanOptions{}, Malformed},
		"a chunk larger than the limit":   {file, ScanOptions{MaxChunkBytes: 100}, Limit},
		"another dialect":                 {foreign{Fluid, None, 10}.file(t, recs), ScanOptions{}, Unsupported},
	} {
		f := &memory{bytes.NewReader(c.file), bytes.Clone(c.file)}
		c.opts.Path = "f"
		if _, err := Repair(f, int64(len(c.file)), c.opts); !errors.Is(err, c.kind) || len(f.data) != len(c.file) {
			t.Errorf("%s: %v, cut to %d of %d", name, err, len(f.data), len(c.file))
		}
	}
}

// flipped returns the file with some bits of one byte changed.
func flipped(file []byte, at int, bits byte) []byte {
	file = bytes.Clone(file)
	file[at] ^= bits
	return file
}

func TestVerify(t *testing.T) {
	recs := someRecords(rand.New(rand.NewPCG(18, 18)), 100, 60)
	file := write(t, recs, WriterOptions{Compressor: Snappy, ChunkBytes: 200, Index: EmbedIndex})
	rep, err := Verify(bytes.NewReader(file), ScanOptions{Policy: Salvage, Parallelism: 2})
	if err != nil || rep.Loss != (Loss{}) || rep.Records != 100 || rep.Dialect != Go || rep.Bytes != int64(len(file)) || rep.Compressors[Snappy] != rep.Chunks-1 {
		t.Errorf("%+v, %v", rep, err)
	}
	file[40] ^= 1
	rep, err = Verify(bytes.NewReader(file), ScanOptions{Policy: Skip})
	if err != nil || rep.Loss.Places != 1 || len(rep.Damage) != 1 || rep.Records+rep.Loss.Records != 100 {
		t.Errorf("%+v, %v", rep, err)
	}
	rep, err = Verify(bytes.NewReader(file), ScanOptions{})
	if err != nil || rep.Loss.Places != 1 || rep.Records != 0 {
		t.Errorf("policy fail: %+v, %v", rep, err)
	}
}

// A frame whose own checksum is wrong is noticed even where the chunk's is right.
func TestVerifyLooksInside(t *testing.T) {
	payload := append(bytes.Clone(streamID), 1, 9, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 'x')
	file := chunkOf(payload, Snappy, 1)
	if rep, err := Verify(bytes.NewReader(file), ScanOptions{Policy: Skip}); err != nil || rep.Loss.Places != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
}
