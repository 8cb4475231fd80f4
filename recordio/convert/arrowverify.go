package convert

import (
	"cmp"
	"encoding/binary"
	"io"
	"math"
)

// The library trusts the flatbuffers of messages. flatTable checks their offsets and lengths before
// the library sees them.

// flatField is a field of a table: a scalar or struct of size bytes, or with size 0 an offset.
type flatField struct {
	slot, size int
	check      func(v *flatVerifier, at, depth int) bool // of what an offset leads to
}

// flatVerifier checks the description of one message.
type flatVerifier struct {
	buf    []byte
	left   int   // tables, which may be shared
	body   int64 // bytes of the body
	values int64 // at most so many are in one column
	err    error // why the message is refused, if it is not damaged
}

const maxFlatDepth = 64

func (v *flatVerifier) has(at, n int) bool { return at >= 0 && n >= 0 && at <= len(v.buf)-n }

// follow returns where the offset at leads.
func (v *flatVerifier) follow(at int) (int, bool) {
	if !v.has(at, 4) {
		return 0, false
	}
	n := binary.LittleEndian.Uint32(v.buf[at:])
	return at + int(n), n > 0 && n < math.MaxInt32 && v.has(at+int(n), 4)
}

// slot returns the place of a field in the table at; 0 if it is absent.
func (v *flatVerifier) slot(at, slot int) int {
	vtable := at - int(int32(binary.LittleEndian.Uint32(v.buf[at:])))
	if 4+2*slot+2 > int(binary.LittleEndian.Uint16(v.buf[vtable:])) {
		return 0
	}
	n := int(binary.LittleEndian.Uint16(v.buf[vtable+4+2*slot:]))
	if n == 0 {
		return 0
	}
	return at + n
}

// vector returns the length of a checked vector of the table at, and where its elements are.
func (v *flatVerifier) vector(at, slot int) (n, to int) {
	place := v.slot(at, slot)
	if place == 0 {
		return 0, 0
	}
	to, _ = v.follow(place)
	return int(binary.LittleEndian.Uint32(v.buf[to:])), to + 4
}

func (v *flatVerifier) int64(at int) int64 { return int64(binary.LittleEndian.Uint64(v.buf[at:])) }

func (v *flatVerifier) table(at, depth int, fields ...flatField) bool {
	if v.left--; v.left < 0 || depth <= 0 || !v.has(at, 4) {
		return false
	}
	vtable := at - int(int32(binary.LittleEndian.Uint32(v.buf[at:])))
	if !v.has(vtable, 4) {
		return false
	}
	if size := int(binary.LittleEndian.Uint16(v.buf[vtable:])); size < 4 || size%2 != 0 || !v.has(vtable, size) {
		return false
	}
	for _, f := range fields {
		place := v.slot(at, f.slot)
		switch {
		case place == 0:
		case f.check == nil:
			if !v.has(place, f.size) {
				return false
			}
		default:
			to, ok := v.follow(place)
			if !ok || !f.check(v, to, depth-1) {
				return false
			}
		}
	}
	return true
}

// flatVector checks a vector of structs or scalars of size bytes.
func flatVector(size int) func(v *flatVerifier, at, depth int) bool {
	return func(v *flatVerifier, at, depth int) bool {
		n := int(binary.LittleEndian.Uint32(v.buf[at:]))
		return n <= len(v.buf)/size && v.has(at+4, n*size)
	}
}

// flatTables checks a vector of tables.
func flatTables(check func(v *flatVerifier, at, depth int) bool) func(v *flatVerifier, at, depth int) bool {
	return func(v *flatVerifier, at, depth int) bool {
		if !flatVector(4)(v, at, depth) {
			return false
		}
		for i := range int(binary.LittleEndian.Uint32(v.buf[at:])) {
			to, ok := v.follow(at + 4 + 4*i)
			if !ok || !check(v, to, depth) {
				return false
			}
		}
		return true
	}
}

func flatPair(v *flatVerifier, at, depth int) bool {
	return v.table(at, depth, flatField{slot: 0, check: flatVector(1)}, flatField{slot: 1, check: flatVector(1)})
}

// flatIntType is Arrow's Int: width and sign.
func flatIntType(v *flatVerifier, at, depth int) bool {
	return v.table(at, depth, flatField{slot: 0, size: 4}, flatField{slot: 1, size: 1})
}

func flatDictionary(v *flatVerifier, at, depth int) bool {
	return v.table(at, depth, flatField{slot: 0, size: 8}, flatField{slot: 1, check: flatIntType},
		flatField{slot: 2, size: 1}, flatField{slot: 3, size: 2})
}

// The numbers of types whose tables have more than scalars.
const (
	flatTimestamp = 10
	flatUnion     = 14

	flatBinaryView = 23
	flatTextView   = 24
)

// flatScalars are the sizes of the scalars in the tables of other types. They may be the last bytes of a description.
var flatScalars = map[byte][]int{
	2: {4, 1}, 3: {2}, 7: {4, 4, 4}, 8: {2}, 9: {2, 4}, 11: {2}, 15: {4}, 16: {4}, 17: {1}, 18: {2},
}

func flatColumn(v *flatVerifier, at, depth int) bool {
	if !v.table(at, depth, flatField{slot: 0, check: flatVector(1)}, flatField{slot: 1, size: 1}, flatField{slot: 2, size: 1},
		flatField{slot: 4, check: flatDictionary}, flatField{slot: 5, check: flatTables(flatColumn)}, flatField{slot: 6, check: flatTables(flatPair)}) {
		return false
	}
	kind := byte(0)
	if place := v.slot(at, 2); place != 0 {
		kind = v.buf[place]
	}
	if kind == flatBinaryView || kind == flatTextView { // the library trusts the number of their buffers
		v.err = faultf(ErrUnsupported, "a column of string or binary views: cast it to string or binary first (pyarrow: Table.cast)")
		return false
	}
	var fields []flatField
	for i, size := range flatScalars[kind] {
		fields = append(fields, flatField{slot: i, size: size})
	}
	switch kind {
	case flatTimestamp:
		fields = []flatField{{slot: 0, size: 2}, {slot: 1, check: flatVector(1)}}
	case flatUnion:
		fields = []flatField{{slot: 0, size: 2}, {slot: 1, check: flatVector(4)}}
	}
	return v.table(at, depth, flatField{slot: 3, check: func(v *flatVerifier, at, depth int) bool { return v.table(at, depth, fields...) }})
}

func flatSchema(v *flatVerifier, at, depth int) bool {
	return v.table(at, depth, flatField{slot: 0, size: 2}, flatField{slot: 1, check: flatTables(flatColumn)},
		flatField{slot: 2, check: flatTables(flatPair)}, flatField{slot: 3, check: flatVector(8)})
}

func flatBatch(v *flatVerifier, at, depth int) bool {
	if !v.table(at, depth, flatField{slot: 0, size: 8}, flatField{slot: 1, check: flatVector(16)}, flatField{slot: 2, check: flatVector(16)},
		flatField{slot: 3, check: func(v *flatVerifier, at, depth int) bool {
			return v.table(at, depth, flatField{slot: 0, size: 1}, flatField{slot: 1, size: 1})
		}}, flatField{slot: 4, check: flatVector(8)}) {
		return false
	}
	views, _ := v.vector(at, 4)
	if views > 0 {
		return false
	}
	n, to := v.vector(at, 1)
	for i := range n { // the lengths of the columns and of what is in them, and how many values are missing
		length, missing := v.int64(to+16*i), v.int64(to+16*i+8)
		if missing < 0 || missing > length || length > v.values {
			return false
		}
	}
	n, to = v.vector(at, 2)
	for i := range n { // the places of the buffers in the body
		offset, length := v.int64(to+16*i), v.int64(to+16*i+8)
		if offset < 0 || length < 0 || length > v.body || offset > v.body-length {
			return false
		}
	}
	return true
}

func flatDictionaryBatch(v *flatVerifier, at, depth int) bool {
	return v.table(at, depth, flatField{slot: 0, size: 8}, flatField{slot: 1, check: flatBatch}, flatField{slot: 2, size: 1})
}

// checkArrowMessage checks the flatbuffer of a message with a body of at most so many bytes, and returns the length
// of its body. The shortest value but none takes a bit.
func checkArrowMessage(buf []byte, most int64) (body int64, err error) {
	v := &flatVerifier{buf: buf, left: len(buf), values: 8*most + maxEmptyRows}
	damaged := faultf(ErrDamaged, "the description of a message contradicts itself")
	root, ok := v.follow(0)
	if !ok || !v.table(root, maxFlatDepth, flatField{slot: 0, size: 2}, flatField{slot: 1, size: 1}, flatField{slot: 3, size: 8}, flatField{slot: 4, check: flatTables(flatPair)}) {
		return 0, damaged
	}
	if place := v.slot(root, 3); place != 0 {
		v.body = v.int64(place)
	}
	if v.body < 0 || v.body > most {
		return 0, faultf(ErrLimit, "a message of %d bytes; at most %d are read", v.body, most)
	}
	if place := v.slot(root, 1); place != 0 {
		checks := map[byte]func(v *flatVerifier, at, depth int) bool{1: flatSchema, 2: flatDictionaryBatch, 3: flatBatch}
		check := checks[v.buf[place]]
		if check == nil || !v.table(root, maxFlatDepth, flatField{slot: 2, check: check}) {
			return 0, cmp.Or(v.err, damaged)
		}
	}
	return v.body, nil
}

// messageReader passes on messages of Arrow after a check of their descriptions.
type messageReader struct {
	r     io.Reader
	most  int   // bytes of a description
	large int64 // bytes of a body
	ready []byte
	body  int64
	ended bool
}

func (m *messageReader) Read(p []byte) (int, error) {
	for len(m.ready) == 0 && m.body == 0 {
		if m.ended {
			return m.r.Read(p)
		}
		if err := m.next(); err != nil {
			return 0, err
		}
	}
	if len(m.ready) > 0 {
		n := copy(p, m.ready)
		m.ready = m.ready[n:]
		return n, nil
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.body)])
	m.body -= int64(n)
	return n, err
}

// next reads and checks the description of the next message.
func (m *messageReader) next() error {
	head := make([]byte, 8)
	if _, err := io.ReadFull(m.r, head[:4]); err != nil {
		return err
	}
	if string(head[:4]) != arrowNext {
		return faultf(ErrDamaged, "a message without its mark; the form before Arrow 0.15 is not read")
	}
	if _, err := io.ReadFull(m.r, head[4:]); err != nil {
		return noEOF(err)
	}
	n := int64(binary.LittleEndian.Uint32(head[4:]))
	switch {
	case n == 0:
		m.ready, m.ended = head, true
		return nil
	case n > int64(m.most) || n%8 != 0:
		return faultf(ErrDamaged, "a description of %d bytes", n)
	}
	description, err := io.ReadAll(io.LimitReader(m.r, n))
	if err == nil && int64(len(description)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	if m.body, err = checkArrowMessage(description, m.large); err != nil {
		return err
	}
	m.ready = append(head, description...)
	return nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
