package recordio

import (
	"bytes"
)

// salvage finds the records of the damaged range c that can be proven correct, by the header's
// checksum of the whole payload or by checksums of parts of it. It sets the compressor in the
// header of c to the one that the records are stored with.
func (cd *chunkDecoder) salvage(c *chunk) {
	c.head = parseHeader(c.stored, cd.dialect)
	p := c.payload()
	if intact(p, c.head, cd.dialect) {
		for _, comp := range likely(c.head.comp, p) {
			if cd.records(c, comp, p) == nil {
				c.head.comp, c.damage.Lost = comp, 0
				return
			}
		}
	}
	c.walk.ends = c.walk.ends[:0]
	for _, comp := range likely(c.head.comp, p) {
		if cd.partial(c, comp, p) {
			c.head.comp = comp
			return
		}
	}
}

// likely returns the compressors that p may have been stored with: the one in the header, and the
// one that p looks like.
func likely(said Compressor, p []byte) []Compressor {
	looks := None
	switch {
	case bytes.HasPrefix(p, streamID), bytes.HasPrefix(p, streamMagic):
		looks = Snappy
	case bytes.HasPrefix(p, gzipMagic):
		looks = Gzip
	case bytes.HasPrefix(p, zstdMagic):
		looks = Zstd
	}
	if said == looks || !said.known() {
		return []Compressor{looks}
	}
	return []Compressor{said, looks}
}

// maxTries bounds the number of false blocks that are decoded in one damaged range.
const maxTries = 4096

// run is a range of data that is proven correct.
type run struct {
	at   int // offset in the chunk's data; -1 if unknown
	data []byte
	last bool // whether it ends at the end of the chunk's data
}

// partial takes the records from the correct blocks of p. It reports whether it found any.
func (cd *chunkDecoder) partial(c *chunk, comp Compressor, p []byte) bool {
	runs := cd.runs(comp, p)
	if len(runs) == 0 {
		return false
	}
	if c.damage.Err.Kind == Truncated {
		runs[len(runs)-1].last = false
	}
	var out []byte
	ends := c.walk.ends[:0]
	keep := func(rec []byte) {
		out = append(out, rec...)
		ends = append(ends, uint32(len(out)))
	}
	fromStart(runs, keep)
	fromEnd(runs, keep)
	c.raw, c.walk.ends, c.bare = out, ends, true
	return len(ends) > 0
}

// runs decodes the readable parts of p, up to the size limit of a chunk.
func (cd *chunkDecoder) runs(comp Compressor, p []byte) []run {
	verify := cd.verify
	cd.verify, cd.tries = true, maxTries
	defer func() { cd.verify = verify }()
	var runs []run
	at, joined := 0, false // the offset of the next data; whether it continues a run
	for left := cd.limit; len(p) > 0; {
		size, raw, ok := cd.piece(comp, p)
		p = p[size:]
		if left -= int64(max(raw, 0)); left < 0 {
			return runs
		}
		switch {
		case ok && joined:
			r := &runs[len(runs)-1]
			r.data = append(r.data, cd.scratch...)
		case ok:
			runs = append(runs, run{at: at, data: bytes.Clone(cd.scratch)})
		}
		joined = ok
		if at < 0 || raw < 0 {
			at = -1
		} else {
			at += raw
		}
	}
	if joined {
		runs[len(runs)-1].last = true
	}
	return runs
}

// piece decodes the block at the start of p into cd.scratch. It returns the stored size, the size
// of the data, and whether the block's checksum is correct. If not, raw is -1 if the amount of
// missing data is unknown, and size leads to the next correct block.
func (cd *chunkDecoder) piece(comp Compressor, p []byte) (size, raw int, ok bool) {
	b, measured := cd.nextBlock(comp, p)
	if measured && cd.right(comp, p[:b.stored]) {
		return int(b.stored), len(cd.scratch), true
	}
	for size = 1; size < len(p) && !cd.isBlock(comp, p[size:]); size++ {
	}
	// The stated size of a damaged block is credible only if it is the size of all blocks but the
	// last.
	if measured && int(b.stored) == size && cd.dialect == Go && int(b.raw) == comp.blockRaw() {
		return size, int(b.raw), false
	}
	return size, -1, false
}

// isBlock reports whether p begins with a block whose checksum is correct.
func (cd *chunkDecoder) isBlock(comp Compressor, p []byte) bool {
	if cd.tries <= 0 {
		return false
	}
	b, ok := cd.nextBlock(comp, p)
	if !ok || b.raw == 0 {
		return false
	}
	cd.tries--
	return cd.right(comp, p[:b.stored])
}

// right decodes a block into cd.scratch.
func (cd *chunkDecoder) right(comp Compressor, p []byte) bool {
	out, flt := cd.unpack(cd.scratch[:0], cd.dialect, comp, p)
	cd.scratch = out
	return flt == nil
}

// nextBlock measures the block at the start of p.
func (cd *chunkDecoder) nextBlock(comp Compressor, p []byte) (block, bool) {
	var f frame
	var flt *Error
	switch {
	case comp == Snappy && cd.dialect == Fluid:
		f, flt = nextStreamBlock(p)
	case comp == Snappy && cd.dialect != Pyrecordio:
		f, flt = nextFrame(p)
	case comp == Zstd && bytes.HasPrefix(p, zstdMagic):
		b, flt := nextZstdFrame(p)
		return b, flt == nil
	case comp == Gzip && bytes.HasPrefix(p, gzipMagic):
		return cd.firstMember(p)
	default:
		return block{}, false
	}
	return block{stored: uint32(f.size), raw: uint32(f.raw)}, flt == nil
}
