package recordio

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// maxBlockRead is the largest block that is decoded for a single record. If blocks are larger, the
// whole chunk is decoded and cached.
const maxBlockRead = 2 << 20

// recordReader reads single records from chunks and keeps the most recently decoded blocks. It is
// not safe for concurrent use.
type recordReader struct {
	decoder
	file   *File
	stored []byte

	chunk    int // the chunk that raw belongs to; -1 if none
	from, to int // the range of the chunk's data in raw
	raw      []byte
}

// record returns record i, valid until the next call. dense means that more records of its chunk
// will follow.
func (r *recordReader) record(i int64, dense bool) ([]byte, error) {
	f := r.file
	c := findChunk(f.x.chunks, i)
	k := i - f.x.chunks[c].First
	p := f.known[c].Load()
	if p == nil || dense {
		return r.whole(c, k)
	}
	start, end := p.bounds(k)
	first, last, from, to := cover(p.blocks, start-lengthSize, end)
	if to-from > maxBlockRead && to-from > 4*(end-start) {
		return r.whole(c, k)
	}
	if r.chunk != c || start-lengthSize < r.from || end > r.to {
		if err := r.load(c, p.blocks, first, last, from, to); err != nil {
			return nil, err
		}
	}
	rec := r.raw[start-r.from : end-r.from]
	if said := binary.LittleEndian.Uint32(r.raw[start-r.from-lengthSize:]); int(said) != len(rec) {
		return nil, f.wrong(c, Stale, "the record has %d bytes, the index says %d", said, len(rec))
	}
	return rec, nil
}

// whole returns record k of chunk c by decoding the whole chunk.
func (r *recordReader) whole(c int, k int64) ([]byte, error) {
	open, err := r.file.open(c)
	if err != nil {
		return nil, err
	}
	start, end := open.part.bounds(k)
	return open.raw[start:end], nil
}

// cover returns the blocks that hold bytes start to end of a chunk's data, and the range of bytes
// in them.
func cover(blocks []block, start, end int) (first, last, from, to int) {
	for last = range blocks {
		to += int(blocks[last].raw)
		if to <= start {
			first, from = last+1, to
		}
		if to >= end {
			break
		}
	}
	return first, last, from, to
}

// load decodes blocks first to last of chunk c.
func (r *recordReader) load(c int, blocks []block, first, last, from, to int) error {
	r.chunk = -1
	if err := r.file.check(c); err != nil {
		return err
	}
	info := r.file.x.chunks[c]
	off, n := info.Offset+headerSize, 0
	for _, b := range blocks[:first] {
		off += int64(b.stored)
	}
	for _, b := range blocks[first : last+1] {
		n += int(b.stored)
	}
	r.stored = extend(r.stored[:0], n)
	if err := readFullAt(r.file.r, r.stored, off); err != nil {
		return err
	}
	if err := r.unpackBlocks(c, blocks[first:last+1]); err != nil {
		return err
	}
	if len(r.raw) != to-from {
		return r.file.wrong(c, Stale, "%d bytes of data where the index says %d", len(r.raw), to-from)
	}
	r.chunk, r.from, r.to = c, from, to
	return nil
}

// unpackBlocks decodes the bytes that were read.
func (r *recordReader) unpackBlocks(c int, blocks []block) error {
	x := r.file.x
	if x.chunks[c].Compressor != None {
		raw, flt := r.unpack(r.raw[:0], x.dialect, x.chunks[c].Compressor, r.stored)
		r.raw = raw
		if flt != nil {
			return r.file.at(c, flt)
		}
		return nil
	}
	r.raw, r.stored = r.stored, r.raw
	p := r.raw
	for _, b := range blocks {
		if crc32.Checksum(p[:b.stored], castagnoli) != b.sum {
			return r.file.wrong(c, Checksum, "%d bytes of the payload", b.stored)
		}
		p = p[b.stored:]
	}
	return nil
}

// check compares the header of chunk c with the index, once, and the index with the limits.
func (f *File) check(c int) error {
	if f.right[c].Load() {
		return nil
	}
	info := f.x.chunks[c]
	if info.Size-headerSize > f.opts.MaxChunkBytes || info.RawBytes > f.opts.MaxChunkBytes {
		return f.wrong(c, Limit, "%d bytes, %d after decompression; the limit is %d", info.Size, info.RawBytes, f.opts.MaxChunkBytes)
	}
	if err := f.x.matches(f.r, info); err != nil {
		return err
	}
	f.right[c].Store(true)
	return nil
}

// wrong returns an error about chunk c.
func (f *File) wrong(c int, kind Kind, format string, args ...any) error {
	return f.at(c, plain("", kind, fmt.Errorf(format, args...)))
}

func (f *File) at(c int, flt *Error) error {
	return flt.at(f.opts.Path, f.x.chunks[c].Offset, int64(c))
}
