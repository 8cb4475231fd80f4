package recordio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A stored index is a magic, a sequence of varints and a CRC-32C over both. The numbers are: file
// size, dialect, number of chunks; for each chunk the gap to the previous one, its size, records,
// bytes of data, compressor, CRC, the length of each record, the number of blocks; and for each
// block the stored bytes and the bytes of data (for compressor None the checksum instead of the
// latter).
const (
	indexMagic    = "RIOINDX1"
	maxIndexBytes = 1 << 30
)

// An embedded index is the payload of a chunk with 0 records. Its length and the magic are repeated
// at the end, so that it can be found from the end of the file.
const (
	indexCompressor Compressor = 0x5a490001
	indexTail                  = 4 + len(indexMagic)
)

// WriteIndex writes x in the format that ReadIndex reads.
func WriteIndex(w io.Writer, x *Index) error {
	b, err := x.bounded()
	if err != nil {
		return plain("", Limit, err)
	}
	n, err := w.Write(b)
	if err != nil {
		return plain("", IO, err)
	}
	if n == 0 {
		return plain("", IO, io.ErrShortWrite)
	}
	return nil
}

// bounded returns x as stored, or an error if it exceeds what ReadIndex accepts.
func (x *Index) bounded() ([]byte, error) {
	b := x.encode()
	if most := mostIndexBytes(x.size); int64(len(b)) > most {
		return nil, fmt.Errorf("an index of %d bytes; the most is %d for a file of %d", len(b), most, x.size)
	}
	return b, nil
}

// encode returns x as stored.
func (x *Index) encode() []byte {
	b := []byte(indexMagic)
	for _, n := range []uint64{uint64(x.size), uint64(x.dialect), uint64(len(x.chunks))} {
		b = binary.AppendUvarint(b, n)
	}
	end := int64(0)
	for i, c := range x.chunks {
		b = c.encode(b, end)
		b = x.parts[i].encode(b, c.Compressor)
		end = c.Offset + c.Size
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func (c ChunkInfo) encode(b []byte, end int64) []byte {
	for _, n := range []int64{c.Offset - end, c.Size, c.Records, c.RawBytes, int64(c.Compressor), int64(c.CRC)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

func (p *part) encode(b []byte, c Compressor) []byte {
	for k := range p.ends {
		start, end := p.bounds(int64(k))
		b = binary.AppendUvarint(b, uint64(end-start))
	}
	b = binary.AppendUvarint(b, uint64(len(p.blocks)))
	for _, k := range p.blocks {
		b = binary.AppendUvarint(b, uint64(k.stored))
		if c == None {
			b = binary.LittleEndian.AppendUint32(b, k.sum)
		} else {
			b = binary.AppendUvarint(b, uint64(k.raw))
		}
	}
	return b
}

// mostIndexBytes bounds the index of a file of size bytes. An index needs a byte or two a record,
// and compressed files can hold many records a byte. A larger index is rejected, because it would
// need several times its size in memory.
func mostIndexBytes(size int64) int64 {
	const least, perByte = 64 << 20, 64
	return min(maxIndexBytes, least+perByte*min(size, maxIndexBytes))
}

// ReadIndex reads the index of a file of size bytes and checks its integrity and consistency. Open
// and Index.Matches check that it belongs to the file. For an index of a file of another size,
// ReadIndex reads only the beginning.
func ReadIndex(r io.Reader, size int64) (*Index, error) {
	head := make([]byte, len(indexMagic)+binary.MaxVarintLen64)
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, plain("", IO, err)
	}
	if err := ofSize(head[:n], size); err != nil {
		return nil, err
	}
	most := mostIndexBytes(size)
	b, err := io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(head[:n]), r), most+1))
	switch {
	case err != nil:
		return nil, plain("", IO, err)
	case int64(len(b)) > most:
		return nil, plain("", Limit, fmt.Errorf("an index of more than %d bytes for a file of %d", most, size))
	}
	return decodeIndex(b)
}

// ofSize returns an error unless head begins the index of a file of size bytes.
func ofSize(head []byte, size int64) error {
	if len(head) < len(indexMagic) || string(head[:len(indexMagic)]) != indexMagic {
		return plain("", Malformed, errors.New("not a RecordIO index"))
	}
	in := cursor{b: head[len(indexMagic):]}
	x := &Index{size: in.int64()}
	if in.bad {
		return plain("", Malformed, errors.New("not a RecordIO index"))
	}
	return x.fits(size)
}

func decodeIndex(b []byte) (*Index, error) {
	n := len(b) - crc32.Size
	if n < len(indexMagic) || string(b[:len(indexMagic)]) != indexMagic {
		return nil, plain("", Malformed, errors.New("not a RecordIO index"))
	}
	if crc32.Checksum(b[:n], castagnoli) != binary.LittleEndian.Uint32(b[n:]) {
		return nil, plain("", Checksum, errors.New("RecordIO index"))
	}
	return decodeNumbers(b[len(indexMagic):n])
}

// decodeNumbers decodes the part of an index between magic and checksum.
func decodeNumbers(b []byte) (*Index, error) {
	in := cursor{b: b}
	x := &Index{size: in.int64(), dialect: Dialect(in.upTo(uint64(Pyrecordio)))}
	end := int64(0)
	for range in.count(8) { // minimum size of a chunk's description
		c := in.chunk(end)
		p := in.part(c)
		if end = c.Offset + c.Size; in.bad || end > x.size {
			return nil, plain("", Malformed, errors.New("the index contradicts itself"))
		}
		x.add(c, p)
	}
	if in.bad || len(in.b) > 0 {
		return nil, plain("", Malformed, errors.New("the index contradicts itself"))
	}
	return x, nil
}

// chunk decodes the description of a chunk; the previous chunk ends at end.
func (in *cursor) chunk(end int64) ChunkInfo {
	c := ChunkInfo{
		Offset: end + in.int64(), Size: in.int64(), Records: in.int64(), RawBytes: int64(in.upTo(maxPayload)),
		Compressor: Compressor(in.upTo(1<<32 - 1)), CRC: uint32(in.upTo(1<<32 - 1)),
	}
	if c.Offset < end || c.Size <= headerSize || c.Size > headerSize+maxPayload || c.Records < 1 || !c.Compressor.known() {
		in.bad = true
	}
	return c
}

// part decodes the inside of c and compares its totals with those of c.
func (in *cursor) part(c ChunkInfo) part {
	if uint64(c.Records) > uint64(len(in.b)) {
		in.bad = true
	}
	if in.bad {
		return part{}
	}
	p := part{ends: make([]uint32, c.Records)}
	end := uint64(0)
	for k := range p.ends {
		end += lengthSize + in.upTo(maxPayload)
		if end > uint64(c.RawBytes) {
			in.bad = true
			return part{}
		}
		p.ends[k] = uint32(end)
	}
	stored, raw := uint64(0), uint64(0)
	p.blocks = make([]block, in.count(2))
	for k := range p.blocks {
		p.blocks[k] = in.block(c.Compressor)
		stored, raw = stored+uint64(p.blocks[k].stored), raw+uint64(p.blocks[k].raw)
	}
	if end != uint64(c.RawBytes) || raw != end || stored != uint64(c.Size-headerSize) {
		in.bad = true
	}
	return p
}

func (in *cursor) block(c Compressor) block {
	b := block{stored: uint32(in.upTo(maxPayload))}
	if c == None {
		b.raw, b.sum = b.stored, in.uint32()
	} else {
		b.raw = uint32(in.upTo(maxPayload))
	}
	return b
}

// cursor decodes numbers. After the first number that is missing or too large it is bad and returns
// zeros.
type cursor struct {
	b   []byte
	bad bool
}

// upTo decodes a number of at most limit.
func (in *cursor) upTo(limit uint64) uint64 {
	n, size := binary.Uvarint(in.b)
	if size <= 0 || n > limit || in.bad {
		in.bad = true
		return 0
	}
	in.b = in.b[size:]
	return n
}

func (in *cursor) int64() int64 { return int64(in.upTo(1 << 60)) }

// count decodes the number of items that follow, each of at least size bytes.
func (in *cursor) count(size int) int { return int(in.upTo(uint64(len(in.b) / size))) }

func (in *cursor) uint32() uint32 {
	if len(in.b) < 4 || in.bad {
		in.bad = true
		return 0
	}
	n := binary.LittleEndian.Uint32(in.b)
	in.b = in.b[4:]
	return n
}

// embeddedIndex returns the chunk that holds x, the index of the file up to that chunk.
func embeddedIndex(x *Index) ([]byte, error) {
	b, err := x.bounded()
	if err != nil {
		return nil, err
	}
	p := append(make([]byte, headerSize), b...)
	p = binary.LittleEndian.AppendUint32(p, uint32(len(b)))
	p = append(p, indexMagic...)
	payload := p[headerSize:]
	header{crc: crc32.ChecksumIEEE(payload), comp: indexCompressor, size: uint32(len(payload))}.put(p)
	return p, nil
}

// findEmbedded returns the index at the end of the file, or nil if there is no intact index that
// fits.
func findEmbedded(r io.ReaderAt, size int64) (*Index, error) {
	var tail [indexTail]byte
	if size < int64(headerSize+indexTail) {
		return nil, nil
	}
	if err := readFullAt(r, tail[:], size-int64(indexTail)); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	begin := size - int64(indexTail) - n - headerSize
	if string(tail[4:]) != indexMagic || begin < 0 || n > mostIndexBytes(begin) {
		return nil, nil
	}
	var head [headerSize]byte
	if err := readFullAt(r, head[:], begin); err != nil {
		return nil, err
	}
	h := parseHeader(head[:], Go)
	if h.n != 0 || h.comp != indexCompressor || int64(h.size) != n+int64(indexTail) {
		return nil, nil
	}
	b := make([]byte, n)
	if err := readFullAt(r, b, begin+headerSize); err != nil {
		return nil, err
	}
	x, err := decodeIndex(b)
	if err != nil || x.size != begin {
		return nil, nil // fall back to walking the headers
	}
	x.size = size
	return x, nil
}

// readFullAt reads len(p) bytes from offset off.
func readFullAt(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return plain("", IO, fmt.Errorf("reading %d bytes at %d: %w", len(p), off, err))
}
