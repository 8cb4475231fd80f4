package recordio

import "encoding/binary"

// walker finds the records of a payload by their lengths. It accepts the payload in growing
// prefixes, so that it can walk the bytes while they are in the processor's cache.
type walker struct {
	total int      // bytes of the whole payload
	said  int      // number of records, according to the header
	pos   int      // position of the next length
	ends  []uint32 // ends of the records found
	bad   bool     // a record is longer than the payload
}

// firstEnds is the number of records for which a chunk gets space before it is read, whatever its
// header states.
const firstEnds = 1 << 16

// reset prepares w for a payload of total bytes, of which here are already available, with n
// expected records.
func (w *walker) reset(total int, n uint32, here int) {
	*w = walker{total: total, said: int(n), ends: w.ends[:0]}
	w.reserve(max(min(w.most(), firstEnds), min(w.most(), here/lengthSize)))
}

// most returns the maximum possible number of records.
func (w *walker) most() int { return min(w.said, w.total/lengthSize) }

// reserve makes space for exactly n records in total. Positions of tiny records need as much memory
// as the payload, and append would double that.
func (w *walker) reserve(n int) {
	if n > cap(w.ends) {
		w.ends = append(make([]uint32, 0, n), w.ends...)
	}
}

// walk continues over payload, which extends the payload of the previous call.
func (w *walker) walk(payload []byte) {
	for w.fill(payload) {
		// Stated counts get at most twice the memory that found records justify.
		most, twice := w.total/lengthSize, max(2*len(w.ends), firstEnds)
		if len(w.ends) < w.most() {
			most = w.most()
		}
		w.reserve(min(most, twice))
	}
}

// fill walks over payload while there is space for records, and reports whether the space ran out.
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

// exact returns an error if the records found do not fill the payload exactly.
func (w *walker) exact() *Error {
	switch {
	case w.bad:
		return fault(Malformed, "record %d of the chunk is longer than its payload", len(w.ends))
	case w.pos != w.total:
		return fault(Malformed, "%d bytes are left behind record %d of the chunk", w.total-w.pos, len(w.ends)-1)
	}
	return nil
}
