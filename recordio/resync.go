package recordio

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
)

const (
	searchStep = 64 << 10 // bytes read at a time during a search
	keptSearch = 1 << 20  // bytes of the omitted range kept if nothing examines them
	// searchCost is how many bytes may be hashed for each omitted byte, in addition to a few
	// chunks. It bounds the cost of files made of false headers.
	searchCost = 64
)

// pass makes c the range from here to the next intact chunk or the end.
func (f *framer) pass(c *chunk, flt *Error) error {
	span, kept := f.span(c)
	if f.win.err != nil && f.win.err != io.EOF {
		return f.broken().at(f.path, c.off, c.num)
	}
	c.damage = &Damage{Offset: c.off, Bytes: span, Lost: -1, Err: flt}
	if kept {
		f.hand(c, int(span))
	}
	return nil
}

// span returns the distance to the next intact chunk or the end of the stream. kept reports whether
// these bytes are still in the window.
func (f *framer) span(c *chunk) (span int64, kept bool) {
	if n := headerSize + int(c.head.size); c.whole || f.chained(c, n) {
		return int64(n), true
	}
	span, kept, _ = f.seek()
	return span, kept
}

// seek is span without a usable header at the current position. It reports whether it found a
// chunk.
func (f *framer) seek() (span int64, kept, found bool) {
	for at := min(1, f.win.buffered()); ; {
		b := f.win.peek(max(at+searchStep, f.win.buffered()))
		to, found := f.search(b, at)
		if !found {
			to = len(b)
		}
		if found || f.win.err != nil && f.win.buffered() == len(b) {
			if span > 0 {
				f.win.discard(to)
			}
			return span + int64(to), span == 0, found
		}
		next := max(at, len(b)-len(magicBytes)+1)
		f.budget += searchCost * int64(next-at)
		at = next
		if int64(at) > f.keeps() {
			f.win.discard(at)
			span, at = span+int64(at), 0
		}
	}
}

// keeps returns how much of a damaged range to keep for salvage.
func (f *framer) keeps() int64 {
	if f.policy == Salvage {
		return f.limit
	}
	return min(f.limit, keptSearch)
}

// chained reports whether c's header is credible: its payload is present, and a chunk or the end of
// the stream follows.
func (f *framer) chained(c *chunk, n int) bool {
	b := f.win.peek(headerSize)
	if len(b) < headerSize || c.head.check(f.limit) != nil || !bytes.HasPrefix(b, magicBytes) {
		return false
	}
	b = f.win.peek(n + len(magicBytes))
	return len(b) == n || len(b) > n && bytes.HasPrefix(b[n:], magicBytes)
}

// search looks for an intact chunk in b, the start of the window, beginning at index at.
func (f *framer) search(b []byte, at int) (int, bool) {
	for {
		i := bytes.Index(b[at:], magicBytes)
		if i < 0 {
			return 0, false
		}
		at += i
		if f.begins(at) {
			return at, true
		}
		b = f.win.peek(len(b)) // begins may have moved the buffer
		at++
	}
}

// begins reports whether an intact chunk begins at index at of the window.
func (f *framer) begins(at int) bool {
	dialects := []Dialect{f.dialect}
	if f.dialect == Unknown {
		dialects = []Dialect{Go, Fluid, Pyrecordio}
	}
	for _, d := range dialects {
		if f.verified(at, d) {
			return true
		}
	}
	return false
}

// verified reports whether an intact chunk of dialect d begins at index at of the window. An empty
// payload proves nothing.
func (f *framer) verified(at int, d Dialect) bool {
	b := f.win.peek(at + headerSize)
	if len(b) < at+headerSize {
		return false
	}
	h := parseHeader(b[at:], d)
	if h.size == 0 || h.check(f.limit) != nil || f.budget < int64(h.size) {
		return false
	}
	if h.n > 0 && h.comp == None && !f.plausible(at, h) {
		return false
	}
	end := at + headerSize + int(h.size)
	b = f.win.peek(end)
	if len(b) < end {
		return false
	}
	f.budget -= int64(h.size)
	return crc32.Checksum(b[at+headerSize:], d.table()) == h.crc
}

// plausible checks the first record before the whole payload is read.
func (f *framer) plausible(at int, h header) bool {
	b := f.win.peek(at + headerSize + lengthSize)
	if len(b) < at+headerSize+lengthSize {
		return false
	}
	return uint64(binary.LittleEndian.Uint32(b[at+headerSize:]))+lengthSize <= uint64(h.size)
}
