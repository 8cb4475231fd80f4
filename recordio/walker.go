package recordio

import (
	"encoding/binary"
	"slices"
)

// walker finds the records of a payload from their lengths. It can be given a
// payload in growing pieces, so that each is walked while the processor still has
// it in its cache.
type walker struct {
	total int      // bytes of the whole payload
	pos   int      // where the next length stands
	ends  []uint32 // of the records found
	bad   bool     // a record is longer than the payload
}

// reset makes w ready for a payload of total bytes and expects n records.
func (w *walker) reset(total int, n uint32) {
	expected := min(int(n), total/lengthSize, 1<<16)
	*w = walker{total: total, ends: slices.Grow(w.ends[:0], expected)}
}

// walk goes on over payload, which begins with what it was given before.
func (w *walker) walk(payload []byte) {
	pos, ends := w.pos, w.ends
	for pos+lengthSize <= len(payload) {
		next := pos + lengthSize + int(binary.LittleEndian.Uint32(payload[pos:]))
		if next > w.total {
			w.bad = true
			pos = w.total
			break
		}
		ends = append(ends, uint32(next))
		pos = next
	}
	w.pos, w.ends = pos, ends
}

// exact returns what is wrong if the records found do not fill the payload.
func (w *walker) exact() *Error {
	switch {
	case w.bad:
		return fault(Malformed, "record %d of the chunk is longer than its payload", len(w.ends))
	case w.pos != w.total:
		return fault(Malformed, "%d bytes are left behind record %d of the chunk", w.total-w.pos, len(w.ends)-1)
	}
	return nil
}
