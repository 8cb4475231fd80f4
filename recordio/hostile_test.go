package recordio

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"testing"
)

// chunkOf returns a chunk with a correct header, except for the given values.
func chunkOf(payload []byte, comp Compressor, n uint32) []byte {
	b := append(make([]byte, headerSize), payload...)
	header{crc: crc32.ChecksumIEEE(payload), comp: comp, size: uint32(len(payload)), n: n}.put(b)
	return b
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// count returns how many records a scan gives, and keeps none.
func count(file []byte, opts ScanOptions) (n int, err error) {
	s := NewScanner(bytes.NewReader(file), opts)
	for s.Scan() {
		n++
	}
	return n, s.Err()
}

// bomb returns n zeros, compressed.
func bomb(tb testing.TB, n int) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.CopyN(w, zeros{}, int64(n)); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestHostileFiles(t *testing.T) {
	huge := binary.LittleEndian.AppendUint32(nil, 1<<30) // a record of 1 GiB
	giant := make([]byte, headerSize)
	header{size: 1<<32 - 1, n: 1}.put(giant)
	large := make([]byte, headerSize)
	header{size: 200 << 20, n: 1}.put(large)
	zs, err := newEncoder(Zstd)
	if err != nil {
		t.Fatal(err)
	}
	zeroFrames, err := zs.pack(nil, make([]byte, 40<<20))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		file []byte
		kind Kind
		text string
		most uint64 // bytes allocated
	}{
		{"a record of 1 GiB in 24 bytes", chunkOf(huge, None, 1), Malformed,
			"f: chunk 0 at byte 0: malformed: record 0 of the chunk is longer than its payload", 2 << 20},
		{"a chunk of 4 GiB in 20 bytes", giant, Limit,
			"f: chunk 0 at byte 0: limit exceeded: the header says 4294967295 bytes, the limit is 33554432", 2 << 20},
		{"a chunk beyond the limit", large, Limit,
			"f: chunk 0 at byte 0: limit exceeded: the header says 209715200 bytes, the limit is 33554432", 2 << 20},
		{"10^9 records of nothing", chunkOf(make([]byte, 400), None, 1e9), Malformed,
			"f: chunk 0 at byte 0: malformed: the header says 1000000000 records in 400 bytes", 2 << 20},
		{"10^9 records of nothing, compressed", chunkOf(bomb(t, 400), Gzip, 1e9), Malformed,
			"f: chunk 0 at byte 0: malformed: the header says 1000000000 records, the payload has 100", 2 << 20},
		{"a bomb of gzip", chunkOf(bomb(t, 100<<20), Gzip, 1), Limit,
			"f: chunk 0 at byte 0: limit exceeded: more than 33554432 bytes after decompression", 400 << 20},
		{"a bomb of zstd", chunkOf(zeroFrames, Zstd, 1), Limit,
			"f: chunk 0 at byte 0: limit exceeded: more than 33554432 bytes after decompression", 400 << 20},
		{"a snappy frame of 4 GiB", chunkOf(append(bytes.Clone(streamID), 0, 12, 0, 0, 1, 2, 3, 4, 255, 255, 255, 255, 15, 0, 0, 0), Snappy, 1), Malformed,
			"f: chunk 0 at byte 0: malformed: snappy frame of 4294967295 bytes of data", 2 << 20},
		{"no recordio", []byte("id,price\n1,2\n3,4\n5,6\n"), Malformed,
			"f: chunk 0 at byte 0: malformed: no chunk begins with 69 64 2c 70", 2 << 20},
		{"an unknown compressor", chunkOf([]byte("abcdefgh"), 7, 1), Unsupported,
			"f: chunk 0 at byte 0: not supported: compressor 0x7", 2 << 20},
		{"a chunk of 0 records that has some", chunkOf([]byte{1, 0, 0, 0, 'x'}, None, 0), Malformed,
			"f: chunk 0 at byte 0: malformed: the header says 0 records, the payload has 1", 2 << 20},
		{"bytes behind the last record", chunkOf([]byte{1, 0, 0, 0, 'x', 'y', 'z'}, None, 1), Malformed,
			"f: chunk 0 at byte 0: malformed: 2 bytes are left behind record 0 of the chunk", 2 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range policies {
				n := 0
				var err error
				used := allocated(func() { n, err = count(c.file, ScanOptions{Path: "f", MaxChunkBytes: 32 << 20, Policy: p}) })
				if used > c.most {
					t.Errorf("%v: %d bytes allocated, at most %d are needed", p, used, c.most)
				}
				if p == Fail && (!errors.Is(err, c.kind) || err.Error() != c.text || n > 0) {
					t.Errorf("%d records, error %v\nwant %s", n, err, c.text)
				}
				if p != Fail && err != nil {
					t.Errorf("%v: %v", p, err)
				}
			}
		})
	}
}

// A gzip chunk that becomes large takes the memory that it needs, and one beyond the limit far less
// than the limit.
func TestGzipTakesNoMoreThanItNeeds(t *testing.T) {
	const limit = 128 << 20
	opts := ScanOptions{MaxChunkBytes: limit}
	for _, c := range []struct {
		name string
		size int
		kind error
		most uint64 // bytes allocated
	}{
		{"within the limit", limit, nil, limit + gzipTrusted*2 + 8<<20},
		{"beyond the limit", 2 * limit, Limit, gzipTrusted*2 + 8<<20},
	} {
		payload := make([]byte, lengthSize)
		binary.LittleEndian.PutUint32(payload, uint32(c.size-lengthSize))
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := io.Copy(w, io.MultiReader(bytes.NewReader(payload), io.LimitReader(zeros{}, int64(c.size-lengthSize)))); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		file, n := chunkOf(packed.Bytes(), Gzip, 1), 0
		var err error
		used := allocated(func() { n, err = count(file, opts) })
		if !errors.Is(err, c.kind) || c.kind == nil && n != 1 {
			t.Errorf("%s: %d records, error %v, want %v", c.name, n, err, c.kind)
		}
		if used > c.most {
			t.Errorf("%s: %d bytes allocated, at most %d are needed", c.name, used, c.most)
		}
	}
}

// A file of false headers costs time in proportion to its size.
func TestFalseHeadersCostLittle(t *testing.T) {
	head := make([]byte, headerSize)
	header{crc: 1, comp: Snappy, size: 1 << 20, n: 1}.put(head)
	file := bytes.Repeat(head, 200_000)
	in := &counter{r: bytes.NewReader(file)}
	f := &framer{win: window{r: in}, limit: 32 << 20, policy: Skip, budget: 4 << 20}
	var c chunk
	if err := f.next(&c); err != nil {
		t.Fatal(err)
	}
	if c.damage == nil || c.damage.Bytes != int64(len(file)) {
		t.Errorf("damage %+v, want all of %d bytes", c.damage, len(file))
	}
	if most := int64(searchCost*len(file) + 5<<20); f.budget < 0 || f.budget > most {
		t.Errorf("%d left to be summed, want 0 to %d", f.budget, most)
	}
}

// A long stretch without a chunk is passed over in little memory, and looked through by salvage
// without being copied for each step.
func TestLongDamageCostsLittle(t *testing.T) {
	const size = 16 << 20
	file := append(make([]byte, size), chunkOf([]byte{1, 0, 0, 0, 'x'}, None, 1)...)
	for policy, most := range map[Policy]uint64{Skip: 8 << 20, Salvage: 6 * size} {
		var loss Loss
		n := 0
		used := allocated(func() {
			s := NewScanner(bytes.NewReader(file), ScanOptions{Policy: policy})
			for s.Scan() {
				n++
			}
			loss = s.Loss()
		})
		if n != 1 || loss.Bytes != size {
			t.Errorf("%v: %d records, %d bytes passed over; want 1, %d", policy, n, loss.Bytes, size)
		}
		if used > most {
			t.Errorf("%v: %d bytes allocated, at most %d are needed", policy, used, most)
		}
	}
}
