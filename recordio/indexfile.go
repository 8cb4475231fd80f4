package recordio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A stored index is a magic, numbers as varints, and a CRC-32C of all of it. The
// numbers: size of the file, dialect, number of chunks; for each chunk what is
// between it and the one before, its size, records, bytes of data, compressor,
// CRC, the length of each record, the number of its blocks, and of each block the
// bytes stored and the bytes of data, for compressor None their sum instead.
const (
	indexMagic    = "RIOINDX1"
	maxIndexBytes = 1 << 30
)

// An embedded index is the payload of a chunk of 0 records, with its length and the
// magic once more at the end, so that it is found from there.
const (
	indexCompressor Compressor = 0x5a490001
	indexTail                  = 4 + len(indexMagic)
)

// WriteIndex writes x as ReadIndex reads it.
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

// bounded returns x as it is stored, or an error if it would not be read.
func (x *Index) bounded() ([]byte, error) {
	b := x.encode()
	if most := mostIndexBytes(x.size); int64(len(b)) > most {
		return nil, fmt.Errorf("an index of %d bytes; the most is %d for a file of %d", len(b), most, x.size)
	}
	return b, nil
}

// encode returns x as it is stored.
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

// mostIndexBytes is how long an index of a file of size bytes may be: a byte or two for
// each record, of which there may be many in a byte that was compressed. What lies beside
// a file is not believed that there are more: its index would take some times as much memory.
func mostIndexBytes(size int64) int64 {
	const least, perByte = 64 << 20, 64
	return min(maxIndexBytes, least+perByte*min(size, maxIndexBytes))
}

// ReadIndex reads the index of a file of size bytes, and checks that it is whole and does
// not contradict itself. Whether it belongs to the file is for Open and Index.Matches to
// say; of one that is of another size no more is read than tells so.
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

// ofSize returns an error unless an index that begins with head is of a file of size bytes.
func ofSize(head []byte, size int64) error {
	if len(head) < len(indexMagic) || string(head[:len(indexMagic)]) != indexMagic {
		return plain("", Malformed, errors.New("not an index of records"))
	}
	in := cursor{b: head[len(indexMagic):]}
	x := &Index{size: in.int64()}
	if in.bad {
		return plain("", Malformed, errors.New("not an index of records"))
	}
	return x.fits(size)
}

func decodeIndex(b []byte) (*Index, error) {
	n := len(b) - crc32.Size
	if n < len(indexMagic) || string(b[:len(indexMagic)]) != indexMagic {
		return nil, plain("", Malformed, errors.New("not an index of records"))
	}
	if crc32.Checksum(b[:n], castagnoli) != binary.LittleEndian.Uint32(b[n:]) {
		return nil, plain("", Checksum, errors.New("index of records"))
	}
	return decodeNumbers(b[len(indexMagic):n])
}

// decodeNumbers reads what is between an index's magic and its checksum.
func decodeNumbers(b []byte) (*Index, error) {
	in := cursor{b: b}
	x := &Index{size: in.int64(), dialect: Dialect(in.upTo(uint64(Pyrecordio)))}
	end := int64(0)
	for range in.count(8) { // no chunk takes fewer bytes
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

// chunk reads the description of a chunk behind the one that ends at end.
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

// part reads what is inside c and compares its sums with those of c.
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

// cursor reads numbers from bytes. After the first that is not there, or is too
// large, it is bad and reads zeros.
type cursor struct {
	b   []byte
	bad bool
}

// upTo reads a number that is at most limit.
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

// count reads how many things follow that take at least size bytes each.
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

// embeddedIndex returns the chunk that holds x. x is the index of what is before it.
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

// findEmbedded returns the index at the end of the file, nil if there is none that
// is whole and fits.
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
		return nil, nil // the headers can be walked without it
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
