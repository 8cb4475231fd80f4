package recordio

import (
	"bytes"
	"hash/crc32"
	"io"
)

// block is a part of a payload that can be decoded alone and has its own checksum.
type block struct {
	stored uint32 // bytes in the payload
	raw    uint32 // bytes of data
	sum    uint32 // CRC-32C of the data; only for compressor None, which stores no other checksum
}

// blockRaw returns how many bytes of data the Writer puts into a block. Snappy frames (64 KiB) are
// blocks, and uncompressed data is divided in the same way.
func (c Compressor) blockRaw() int {
	switch c {
	case Gzip:
		return 1 << 20
	case Zstd:
		return 256 << 10
	}
	return frameRaw
}

// blocks lists the blocks of a payload p with raw bytes of data.
func (d *decoder) blocks(dialect Dialect, comp Compressor, p []byte, raw int) ([]block, *Error) {
	switch {
	case comp == None:
		return plainBlocks(p), nil
	case comp == Snappy && dialect == Fluid:
		return frameBlocks(p, nextStreamBlock)
	case comp == Snappy && dialect != Pyrecordio:
		return frameBlocks(p, nextFrame)
	case comp == Zstd:
		return zstdBlocks(p)
	case comp == Gzip:
		return d.gzipBlocks(p)
	}
	return []block{{stored: uint32(len(p)), raw: uint32(raw)}}, nil
}

func plainBlocks(p []byte) []block {
	var bs []block
	for len(p) > 0 {
		piece := p[:min(len(p), frameRaw)]
		p = p[len(piece):]
		n := uint32(len(piece))
		bs = append(bs, block{stored: n, raw: n, sum: crc32.Checksum(piece, castagnoli)})
	}
	return bs
}

// frameBlocks makes a block of each data frame and the frames without data before it. Frames after
// the last data frame belong to its block.
func frameBlocks(p []byte, next func([]byte) (frame, *Error)) ([]block, *Error) {
	var bs []block
	pending := uint32(0)
	for len(p) > 0 {
		f, err := next(p)
		if err != nil {
			return nil, err
		}
		p = p[f.size:]
		pending += uint32(f.size)
		if f.data() {
			bs = append(bs, block{stored: pending, raw: uint32(f.raw)})
			pending = 0
		}
	}
	if len(bs) > 0 {
		bs[len(bs)-1].stored += pending
	}
	return bs, nil
}

func zstdBlocks(p []byte) ([]block, *Error) {
	var bs []block
	for len(p) > 0 {
		b, err := nextZstdFrame(p)
		if err != nil {
			return nil, err
		}
		bs = append(bs, b)
		p = p[b.stored:]
	}
	return bs, nil
}

// gzipBlocks makes a block of each member. Only decompression finds the end of a member.
func (d *decoder) gzipBlocks(p []byte) ([]block, *Error) {
	var bs []block
	for len(p) > 0 {
		b, ok := d.firstMember(p)
		if !ok {
			return nil, fault(Malformed, "gzip member")
		}
		bs = append(bs, b)
		p = p[b.stored:]
	}
	return bs, nil
}

var gzipMagic = []byte{0x1f, 0x8b, 0x08}

// firstMember measures the gzip member at the start of p, which must be complete.
func (d *decoder) firstMember(p []byte) (block, bool) {
	r := bytes.NewReader(p)
	if d.gzipReset(r) != nil {
		return block{}, false
	}
	d.gz.Multistream(false)
	n, err := io.Copy(io.Discard, io.LimitReader(d.gz, d.limit+1))
	return block{stored: uint32(len(p) - r.Len()), raw: uint32(n)}, err == nil && n <= d.limit
}
