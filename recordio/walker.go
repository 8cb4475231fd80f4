package recordio

import "encoding/binary"

// walker finds the records of a payload from their lengths. It can be given a
// payload in growing pieces, so that each is walked while the processor still has
// it in its cache.
type walker struct {
	total int      // bytes of the whole payload
	said  int      // records, by the header
	pos   int      // where the next length stands
	ends  []uint32 // of the records found
	bad   bool     // a record is longer than the payload
}

// firstEnds are the records that a chunk gets room for before it was read, whatever it
// says.
const firstEnds = 1 << 16

// reset makes w ready for a payload of total bytes, of which here many are there
// already, and expects n records.
func (w *walker) reset(total int, n uint32, here int) {
	*w = walker{total: total, said: int(n), ends: w.ends[:0]}
	w.reserve(max(min(w.most(), firstEnds), min(w.most(), here/lengthSize)))
}

// most is the greatest number of records that there can be.
func (w *walker) most() int { return min(w.said, w.total/lengthSize) }

// reserve makes room for n records in all. It is exact: records of a few bytes take as
// much room as their payload, which append would double.
func (w *walker) reserve(n int) {
	if n > cap(w.ends) {
		w.ends = append(make([]uint32, 0, n), w.ends...)
	}
}

// walk goes on over payload, which begins with what it was given before.
func (w *walker) walk(payload []byte) {
	for w.fill(payload) {
		// What a chunk says of itself gets no more than twice what it has shown.
		most, twice := w.total/lengthSize, max(2*len(w.ends), firstEnds)
		if len(w.ends) < w.most() {
			most = w.most()
		}
		w.reserve(min(most, twice))
	}
}

// fill walks over payload as far as there is room for records, and reports whether
// there was too little.
func (w *walker) fill(payload []byte) (full bool) {
	pos, ends := w.pos, w.ends
	for pos+lengthSize <= len(payload) {
		if len(ends) == cap(ends) {
			full = true
			break
		}
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
	return full
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
