package recordio

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

const (
	headerSize = 20
	magic      = 0x01020304
	lengthSize = 4 // of the length before each record
)

// magicBytes begin every chunk.
var magicBytes = []byte{0x04, 0x03, 0x02, 0x01}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is a chunk header of any dialect.
type header struct {
	crc  uint32
	comp Compressor
	size uint32 // of the payload as stored
	n    uint32 // records
}

// parseHeader decodes the words of b, which begins with the magic or a damaged one.
func parseHeader(b []byte, d Dialect) header {
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }
	switch d {
	case Fluid:
		return header{n: word(1), crc: word(2), comp: Compressor(word(3)), size: word(4)}
	case Pyrecordio:
		return header{n: word(1), crc: word(2), comp: pyCompressor(word(3)), size: word(4)}
	}
	return header{crc: word(1), comp: Compressor(word(2)), size: word(3), n: word(4)}
}

// readHeader decodes a header and checks it.
func readHeader(b []byte, d Dialect, limit int64) (header, *Error) {
	if !bytes.HasPrefix(b, magicBytes) {
		return header{}, fault(Malformed, "no chunk begins with % x", b[:len(magicBytes)])
	}
	h := parseHeader(b, d)
	return h, h.check(limit)
}

// pyCompressor translates pyrecordio's compressor numbers, which begin at 1.
func pyCompressor(word uint32) Compressor {
	if word == 0 || word > 3 {
		return Compressor(word | 1<<31) // invalid in every dialect
	}
	return Compressor(word - 1)
}

// put encodes h as dialect Go.
func (h header) put(b []byte) {
	for i, word := range []uint32{magic, h.crc, uint32(h.comp), h.size, h.n} {
		binary.LittleEndian.PutUint32(b[4*i:], word)
	}
}

// check validates h against itself and against limit, the maximum size of a chunk.
func (h header) check(limit int64) *Error {
	switch {
	case int64(h.size) > limit:
		return fault(Limit, "the header says %d bytes, the limit is %d", h.size, limit)
	case h.n == 0:
		return nil
	case !h.comp.known():
		return fault(Unsupported, "%v", h.comp)
	case h.size == 0, h.comp == None && uint64(h.size) < lengthSize*uint64(h.n):
		return fault(Malformed, "the header says %d records in %d bytes", h.n, h.size)
	}
	return nil
}

// table returns the polynomial of the checksum in chunk headers.
func (d Dialect) table() *crc32.Table {
	if d == Pyrecordio {
		return castagnoli
	}
	return crc32.IEEETable
}
