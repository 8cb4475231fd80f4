package recordio

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
)

// chunk is one chunk between stream and records.
type chunk struct {
	off    int64 // of its header in the file
	num    int64 // of the chunk in the file
	head   header
	stored []byte // header and payload, or a damaged range
	whole  bool   // whether the payload matches the header's checksum

	buf   []byte // the window's buffer that contains stored, to be returned to it
	raw   []byte // payload after decompression; may alias stored
	array []byte // array for raw, reused
	walk  walker // the records of raw

	damage *Damage // to be reported before the records
	err    *Error  // ends the scan before the records
	bare   bool    // whether raw holds salvaged records without their lengths

	ready chan struct{} // in a pipeline: closed when decoded
	sent  delivery
}

func (c *chunk) payload() []byte { return c.stored[min(len(c.stored), headerSize):] }

// clear resets c for the next chunk and keeps its arrays.
func (c *chunk) clear() {
	c.head, c.stored, c.raw, c.whole = header{}, nil, nil, false
	c.walk.reset(0, 0, 0)
	c.damage, c.err, c.bare = nil, nil, false
}

// framer cuts a stream into chunks and verifies their checksums.
type framer struct {
	win     window
	path    string
	limit   int64
	policy  Policy
	dialect Dialect
	num     int64 // of the next chunk
	give    bool  // whether chunks own their bytes; otherwise the window does
	budget  int64 // bytes that the search for a chunk after damage may still hash
}

// next reads the next chunk into c. It returns io.EOF or an error that ends the scan; damage that
// the policy tolerates is in c.
func (f *framer) next(c *chunk) error {
	c.clear()
	b := f.win.peek(headerSize)
	if len(b) == 0 {
		return f.ended()
	}
	c.off, c.num = f.win.off, f.num
	f.num++
	flt := f.frame(c)
	switch {
	case flt == nil:
		f.hand(c, headerSize+int(c.head.size))
		return nil
	case f.policy == Fail || !flt.Kind.damage():
		return flt.at(f.path, c.off, c.num)
	}
	return f.pass(c, flt.at(f.path, c.off, c.num))
}

// ended returns the reason for the end of the stream.
func (f *framer) ended() error {
	if errors.Is(f.win.err, io.EOF) {
		return io.EOF
	}
	return f.broken().at(f.path, f.win.off, f.num)
}

// broken returns the failure of the stream.
func (f *framer) broken() *Error { return plain("", IO, f.win.err) }

// hand moves the next n bytes to c.
func (f *framer) hand(c *chunk, n int) {
	if f.give {
		c.stored, c.buf = f.win.take(n, c.buf)
	} else {
		c.stored = f.win.peek(n)
		f.win.discard(n)
	}
	if c.whole && c.head.comp == None {
		c.raw = c.payload()
	}
}

// frame reads the chunk at the start of the window and verifies it.
func (f *framer) frame(c *chunk) *Error {
	if f.dialect != Unknown {
		return f.frameAs(c, f.dialect)
	}
	flt := f.frameAs(c, Go)
	if flt == nil {
		f.dialect = Go
		if c.head.comp == Snappy && isWangkuiyi(f.win.peek(headerSize + int(c.head.size))[headerSize:]) {
			f.dialect = Wangkuiyi
		}
		return nil
	}
	for _, d := range []Dialect{Fluid, Pyrecordio} {
		var other chunk
		if flt.Kind.damage() && f.frameAs(&other, d) == nil && other.head.n > 0 {
			c.head, c.whole, c.walk, f.dialect = other.head, true, other.walk, d
			return nil
		}
	}
	return flt
}

// isWangkuiyi recognizes a payload in which a record's length has its own frame, as an unbuffered
// writer produces.
func isWangkuiyi(payload []byte) bool {
	if !bytes.HasPrefix(payload, streamID) {
		return false
	}
	f, err := nextFrame(payload[len(streamID):])
	return err == nil && f.data() && f.raw == lengthSize && len(payload) > len(streamID)+f.size
}

// frameAs reads the chunk as one of dialect d.
func (f *framer) frameAs(c *chunk, d Dialect) *Error {
	b := f.win.peek(headerSize)
	if len(b) < headerSize {
		return f.short("the last %d bytes are not a header", len(b))
	}
	var flt *Error
	if c.head, flt = readHeader(b, d, f.limit); flt != nil {
		return flt
	}
	sum, flt := f.sum(c, d)
	if flt != nil {
		return flt
	}
	if sum != c.head.crc {
		return fault(Checksum, "the payload of %d bytes has %08x, the header says %08x", c.head.size, sum, c.head.crc)
	}
	c.whole = true
	return nil
}

// sum reads and hashes the payload. If it is uncompressed, sum also walks the records while the
// bytes are in the processor's cache.
func (f *framer) sum(c *chunk, d Dialect) (uint32, *Error) {
	total := headerSize + int(c.head.size)
	sum, done := uint32(0), headerSize
	f.win.hint = total
	c.walk.reset(int(c.head.size), c.head.n, 0)
	for done < total {
		want := min(total, done+sumPiece)
		b := f.win.peek(want)
		if len(b) < want {
			return 0, f.short("%d bytes of a payload of %d are there", len(b)-headerSize, c.head.size)
		}
		sum = crc32.Update(sum, d.table(), b[done:])
		if c.head.comp == None {
			c.walk.walk(b[headerSize:])
		}
		done = want
	}
	return sum, nil
}

// short returns the error for a stream with too few bytes.
func (f *framer) short(format string, args ...any) *Error {
	if !errors.Is(f.win.err, io.EOF) {
		return f.broken()
	}
	return fault(Truncated, format, args...)
}
