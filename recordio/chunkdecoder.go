package recordio

import "hash/crc32"

// chunkDecoder turns chunks into records. Each goroutine that decodes has one.
type chunkDecoder struct {
	decoder
	path    string
	policy  Policy
	dialect Dialect // of the current chunk
	tries   int     // failed decodings that salvage may still attempt
	scratch []byte  // the last decoded block
}

// open decodes c, or salvages its records.
func (cd *chunkDecoder) open(c *chunk, d Dialect) {
	cd.dialect = d
	if c.damage == nil {
		flt := cd.decode(c)
		switch {
		case flt == nil:
			return
		case cd.policy == Fail:
			c.err = flt.at(cd.path, c.off, c.num)
			return
		}
		c.damage = &Damage{Offset: c.off, Bytes: int64(len(c.stored)), Lost: -1, Err: flt.at(cd.path, c.off, c.num)}
	}
	c.walk.ends = c.walk.ends[:0]
	if cd.policy == Salvage && len(c.stored) > headerSize {
		cd.salvage(c)
	}
	cd.count(c)
}

// decode decompresses a whole chunk and finds its records. A chunk with a stated count of 0 may
// hold anything except records.
func (cd *chunkDecoder) decode(c *chunk) *Error {
	if !c.head.comp.known() {
		return nil // it has 0 records, see header.check
	}
	var flt *Error
	if c.head.comp == None {
		flt = c.walk.exact()
	} else {
		flt = cd.records(c, c.head.comp, c.payload())
	}
	if c.head.n == 0 && (flt != nil || len(c.walk.ends) == 0) {
		c.walk.ends = c.walk.ends[:0]
		return nil
	}
	if n := uint32(len(c.walk.ends)); flt == nil && n != c.head.n {
		flt = fault(Malformed, "the header says %d records, the payload has %d", c.head.n, n)
		c.head.n = n // unlike the header, the payload has a checksum
	}
	return flt
}

// records decompresses p into c and finds the records, which must fill the payload exactly.
func (cd *chunkDecoder) records(c *chunk, comp Compressor, p []byte) *Error {
	raw, flt := p, (*Error)(nil)
	if comp != None {
		raw, flt = cd.unpack(c.array[:0], cd.dialect, comp, p)
		c.array = raw[:0]
		if flt != nil {
			return flt
		}
	}
	c.raw = raw
	c.walk.reset(len(raw), c.head.n, len(raw))
	c.walk.walk(raw)
	return c.walk.exact()
}

// count records the numbers of saved and lost records in c's damage.
func (cd *chunkDecoder) count(c *chunk) {
	saved := int64(len(c.walk.ends))
	c.damage.Saved = saved
	if c.damage.Lost == 0 {
		return // salvage proved that none is missing
	}
	said := int64(c.head.n)
	if c.damage.Bytes == headerSize+int64(c.head.size) && said > saved && c.head.check(cd.limit) == nil {
		c.damage.Lost = said - saved
	}
}

// intact reports whether p has the checksum that h states, allowing for one flipped bit in the
// stated checksum.
func intact(p []byte, h header, d Dialect) bool {
	wrong := crc32.Checksum(p, d.table()) ^ h.crc
	return wrong&(wrong-1) == 0
}
