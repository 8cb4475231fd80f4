package recordio

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
)

const (
	searchStep = 64 << 10 // read at a time while looking for a chunk
	keptSearch = 1 << 20  // kept of it where nobody looks through what is passed over
	// searchCost is how many bytes may be summed for each byte passed over, besides a
	// few chunks, so that a file made of false headers costs no more than that.
	searchCost = 64
)

// pass makes c the stretch from here to the next whole chunk or the end.
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

// span finds how many bytes from here the next whole chunk begins, or the stream
// ends. They are still in the window if kept.
func (f *framer) span(c *chunk) (span int64, kept bool) {
	if n := headerSize + int(c.head.size); c.whole || f.chained(c, n) {
		return int64(n), true
	}
	span, kept, _ = f.seek()
	return span, kept
}

// seek is span where the header here says nothing. It reports whether there is
// such a chunk.
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

// keeps is how much of a damaged stretch is kept: what salvage looks through.
func (f *framer) keeps() int64 {
	if f.policy == Salvage {
		return f.limit
	}
	return min(f.limit, keptSearch)
}

// chained reports whether what c's header says is believable: its payload is there
// and behind it a chunk begins or the stream ends.
func (f *framer) chained(c *chunk, n int) bool {
	b := f.win.peek(headerSize)
	if len(b) < headerSize || c.head.check(f.limit) != nil || !bytes.HasPrefix(b, magicBytes) {
		return false
	}
	b = f.win.peek(n + len(magicBytes))
	return len(b) == n || len(b) > n && bytes.HasPrefix(b[n:], magicBytes)
}

// search looks for a whole chunk in b, the start of the window, from at on.
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
		b = f.win.peek(len(b)) // begins may have moved it
		at++
	}
}

// begins reports whether a whole chunk begins at byte at of the window.
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

// verified reports whether a whole chunk of dialect d begins at byte at of the
// window. An empty payload proves nothing.
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

// plausible looks at the first record before the whole payload is read.
func (f *framer) plausible(at int, h header) bool {
	b := f.win.peek(at + headerSize + lengthSize)
	if len(b) < at+headerSize+lengthSize {
		return false
	}
	return uint64(binary.LittleEndian.Uint32(b[at+headerSize:]))+lengthSize <= uint64(h.size)
}
