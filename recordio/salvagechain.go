package recordio

import "encoding/binary"

// fromStart passes to keep the records that can be reached from the chunk's first record through
// lengths that all lie in a run. A record that extends into a gap is lost, but its length still
// locates the next one.
func fromStart(runs []run, keep func([]byte)) {
	pos := 0
	for i := range runs {
		r := &runs[i]
		if r.at < 0 || pos < r.at {
			return
		}
		for pos+lengthSize <= r.at+len(r.data) {
			start := pos - r.at + lengthSize
			end := start + int(binary.LittleEndian.Uint32(r.data[start-lengthSize:]))
			pos = r.at + end
			if end > len(r.data) {
				break
			}
			keep(r.data[start:end])
		}
		r.data, r.at = r.data[min(len(r.data), max(0, pos-r.at)):], pos // the rest is for fromEnd
	}
}

// fromEnd passes to keep the records of the last run if their lengths lead exactly to the end of
// the chunk. The first boundary must be guessed, so a chain of lengths counts only from the
// position where all candidate chains meet; this drops a record or two more than are lost. Only
// data that imitates lengths right up to a true length could pass for a record.
func fromEnd(runs []run, keep func([]byte)) {
	last := runs[len(runs)-1]
	if !last.last || len(last.data) == 0 {
		return
	}
	good := chains(last.data)
	for pos := meeting(last.data, good); pos < len(last.data); {
		start := pos + lengthSize
		pos = leads(last.data, pos)
		keep(last.data[start:pos])
	}
}

// leads returns the position that the length at position i leads to.
func leads(data []byte, i int) int {
	return i + lengthSize + int(binary.LittleEndian.Uint32(data[i:]))
}

// positions is a set of positions.
type positions []uint64

func (b positions) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b positions) has(i int) bool { return b[i/64]>>(i%64)&1 == 1 }

// chains returns the positions from which lengths lead exactly to the end.
func chains(data []byte) positions {
	good := make(positions, len(data)/64+1)
	for i := len(data) - lengthSize; i >= 0; i-- {
		if n := leads(data, i); n == len(data) || n < len(data) && good.has(n) {
			good.add(i)
		}
	}
	return good
}

// meeting returns the first position after a record that all candidate chains share; len(data) if
// there is none.
func meeting(data []byte, good positions) int {
	reach, begun := 0, false
	for i := range data {
		if !good.has(i) {
			continue
		}
		n := leads(data, i)
		if begun && reach <= i && n > i+lengthSize {
			return i
		}
		begun = begun || n > i+lengthSize
		reach = max(reach, n)
	}
	return len(data)
}
