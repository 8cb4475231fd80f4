package recordio

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/golang/snappy"
)

// foreign writes records as other writers of the format do.
type foreign struct {
	dialect  Dialect
	comp     Compressor
	perChunk int
}

func (w foreign) file(tb testing.TB, recs [][]byte) []byte {
	var out []byte
	for len(recs) > 0 {
		n := min(w.perChunk, len(recs))
		payload := w.payload(tb, recs[:n])
		sum := crc32.Checksum(payload, w.dialect.table())
		words := []uint32{magic, sum, uint32(w.comp), uint32(len(payload)), uint32(n)}
		switch w.dialect {
		case Fluid:
			words = []uint32{magic, uint32(n), sum, uint32(w.comp), uint32(len(payload))}
		case Pyrecordio: // whose compressors begin with 1
			words = []uint32{magic, uint32(n), sum, uint32(w.comp) + 1, uint32(len(payload))}
		}
		for _, word := range words {
			out = binary.LittleEndian.AppendUint32(out, word)
		}
		out = append(out, payload...)
		recs = recs[n:]
	}
	return out
}

func (w foreign) payload(tb testing.TB, recs [][]byte) []byte {
	var pieces [][]byte // as they reach the compressor
	var raw []byte
	for _, rec := range recs {
		size := binary.LittleEndian.AppendUint32(nil, uint32(len(rec)))
		pieces = append(pieces, size, rec)
		raw = append(append(raw, size...), rec...)
	}
	switch {
	case w.comp == None:
		return raw
	case w.comp == Gzip:
		e, err := newEncoder(Gzip)
		if err != nil {
			tb.Fatal(err)
		}
		out, err := e.pack(nil, raw)
		if err != nil {
			tb.Fatal(err)
		}
		return out
	case w.dialect == Pyrecordio:
		return snappy.Encode(nil, raw)
	case w.dialect == Fluid:
		return snappyStream(raw)
	}
	var out bytes.Buffer
	unbuffered := snappy.NewWriter(&out) //lint:ignore SA1019 it is what that writer uses
	for _, p := range pieces {
		if _, err := unbuffered.Write(p); err != nil {
			tb.Fatal(err)
		}
	}
	return out.Bytes()
}

func snappyStream(raw []byte) []byte {
	out := bytes.Clone(streamMagic)
	for len(raw) > 0 {
		piece := raw[:min(len(raw), 32<<10)]
		raw = raw[len(piece):]
		flag, body := byte(1), snappy.Encode(nil, piece)
		if len(body) >= len(piece)-len(piece)/8 {
			flag, body = 0, piece
		}
		out = binary.BigEndian.AppendUint16(append(out, flag), uint16(len(body)))
		out = binary.BigEndian.AppendUint32(out, maskedCRC(piece))
		out = append(out, body...)
	}
	return out
}

// foreigners are the dialects with each compressor that their writers have.
func foreigners() []foreign {
	return []foreign{
		{Go, None, 300}, {Go, Snappy, 300}, {Go, Gzip, 300},
		{Wangkuiyi, Snappy, 300},
		{Fluid, None, 300}, {Fluid, Snappy, 300}, {Fluid, Snappy, 1},
		{Pyrecordio, None, 300}, {Pyrecordio, Snappy, 300}, {Pyrecordio, Gzip, 300},
	}
}

func TestDialectsAreRecognised(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	recs := someRecords(rnd, 1000, 700)
	recs[0] = []byte("not empty")
	for _, w := range foreigners() {
		file := w.file(t, recs)
		want := w.dialect
		if w.dialect == Go && w.comp == Snappy {
			want = Wangkuiyi // its frames are those of the unbuffered writer
		}
		for _, workers := range []int{1, 2} {
			s := NewScanner(bytes.NewReader(file), ScanOptions{Parallelism: workers})
			var got [][]byte
			for s.Scan() {
				got = append(got, bytes.Clone(s.Bytes()))
			}
			if s.Err() != nil || s.Dialect() != want {
				t.Fatalf("%v, %v: dialect %v, %v", w.dialect, w.comp, s.Dialect(), s.Err())
			}
			equal(t, w.dialect.String(), got, recs)
		}
		x, err := BuildIndex(bytes.NewReader(file), ScanOptions{})
		if err != nil {
			t.Fatalf("%v, %v: %v", w.dialect, w.comp, err)
		}
		readAtRandom(t, rnd, file, recs, OpenOptions{Index: x})
		readAtRandom(t, rnd, file, recs, OpenOptions{})
	}
}

func TestDialectsAreRecognisedBehindDamage(t *testing.T) {
	recs := someRecords(rand.New(rand.NewPCG(6, 6)), 900, 300)
	for i := range recs {
		recs[i] = append(recs[i], 'x')
	}
	for _, w := range foreigners() {
		file := w.file(t, recs)
		file[headerSize+9] ^= 1 // in the payload of the first chunk
		got, err := scan(file, ScanOptions{Policy: Salvage})
		if err != nil || !isSubsequence(got, recs) || w.perChunk > 1 && len(got) < 600 {
			t.Errorf("%v, %v: %d records, %v", w.dialect, w.comp, len(got), err)
		}
	}
}
