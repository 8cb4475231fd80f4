package convert

import (
	"encoding/binary"
	"math"
	"slices"
)

// The first bytes of msgpack values, as its specification names them.
const (
	mpNil      = 0xc0
	mpFalse    = 0xc2
	mpTrue     = 0xc3
	mpBin8     = 0xc4
	mpBin16    = 0xc5
	mpBin32    = 0xc6
	mpFloat32  = 0xca
	mpFloat64  = 0xcb
	mpUint8    = 0xcc
	mpUint16   = 0xcd
	mpUint32   = 0xce
	mpUint64   = 0xcf
	mpInt8     = 0xd0
	mpInt16    = 0xd1
	mpInt32    = 0xd2
	mpInt64    = 0xd3
	mpStr8     = 0xd9
	mpStr16    = 0xda
	mpStr32    = 0xdb
	mpArray16  = 0xdc
	mpArray32  = 0xdd
	mpMap16    = 0xde
	mpMap32    = 0xdf
	mpFixMap   = 0x80
	mpFixArray = 0x90
	mpFixStr   = 0xa0
)

// msgpackEncoder writes msgpack, each value in its shortest form. A tensor is the map that the
// Python package msgpack-numpy writes for an ndarray.
type msgpackEncoder struct{ nesting }

var _ Encoder = (*msgpackEncoder)(nil)

func newMsgpack(l Limits) Encoder { return &msgpackEncoder{newNesting(l)} }

func (e *msgpackEncoder) Map(n int) {
	if e.open(inMap, n) {
		e.buf = appendCount(e.buf, max(n, 0), mpFixMap, mpMap16)
	}
}

func (e *msgpackEncoder) Array(n int) {
	if e.open(inArray, n) {
		e.buf = appendCount(e.buf, max(n, 0), mpFixArray, mpArray16)
	}
}

// End writes the count of a level whose size was unknown; one byte was reserved for it.
func (e *msgpackEncoder) End() {
	l, ok := e.close()
	if !ok || l.want >= 0 {
		return
	}
	fix, count16 := byte(mpFixMap), byte(mpMap16)
	if l.kind == inArray {
		fix, count16 = mpFixArray, mpArray16
	}
	if l.have < 16 {
		e.buf[l.start] = fix | byte(l.have)
		return
	}
	var head [5]byte
	e.buf = slices.Replace(e.buf, l.start, l.start+1, appendCount(head[:0], l.have, fix, count16)...)
}

// appendCount appends the head of a map or array of n: in the low bits of fix, or as 16 or 32 bits
// after count16 or its successor.
func appendCount(b []byte, n int, fix, count16 byte) []byte {
	switch {
	case n < 16:
		return append(b, fix|byte(n))
	case n <= math.MaxUint16:
		return append(b, count16, byte(n>>8), byte(n))
	}
	return binary.BigEndian.AppendUint32(append(b, count16+1), uint32(n))
}

func (e *msgpackEncoder) Key(name string) {
	if e.key(name) {
		e.buf = append(appendStringHead(e.buf, len(name)), name...)
	}
}

func (e *msgpackEncoder) Nil() {
	if e.value() {
		e.buf = append(e.buf, mpNil)
	}
}

func (e *msgpackEncoder) Bool(v bool) {
	if !e.value() {
		return
	}
	if v {
		e.buf = append(e.buf, mpTrue)
	} else {
		e.buf = append(e.buf, mpFalse)
	}
}

func (e *msgpackEncoder) Int(v int64) {
	if e.value() {
		e.buf = appendInt(e.buf, v)
	}
}

func (e *msgpackEncoder) Uint(v uint64) {
	if e.value() {
		e.buf = appendUint(e.buf, v)
	}
}

func appendInt(b []byte, v int64) []byte {
	switch {
	case v >= 0:
		return appendUint(b, uint64(v))
	case v >= -32:
		return append(b, byte(v))
	case v >= math.MinInt8:
		return append(b, mpInt8, byte(v))
	case v >= math.MinInt16:
		return append(b, mpInt16, byte(v>>8), byte(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(b, mpInt32), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(b, mpInt64), uint64(v))
}

func appendUint(b []byte, v uint64) []byte {
	switch {
	case v < 128:
		return append(b, byte(v))
	case v <= math.MaxUint8:
		return append(b, mpUint8, byte(v))
	case v <= math.MaxUint16:
		return append(b, mpUint16, byte(v>>8), byte(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, mpUint32), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(b, mpUint64), v)
}

func (e *msgpackEncoder) Float32(v float32) {
	if e.value() {
		e.buf = binary.BigEndian.AppendUint32(append(e.buf, mpFloat32), math.Float32bits(v))
	}
}

func (e *msgpackEncoder) Float64(v float64) {
	if e.value() {
		e.buf = binary.BigEndian.AppendUint64(append(e.buf, mpFloat64), math.Float64bits(v))
	}
}

func (e *msgpackEncoder) Number(text []byte) { putNumber(e, &e.nesting, text) }

func (e *msgpackEncoder) String(v []byte) {
	if e.value() && e.fits(len(v)) {
		e.buf = appendShort(appendStringHead(e.buf, len(v)), v)
	}
}

// appendShort appends v; it is fast for short slices.
func appendShort(b, v []byte) []byte {
	const word = 16
	n := len(b)
	if len(v) <= word && cap(v) >= word && cap(b)-n >= word {
		*(*[word]byte)(b[n : n+word]) = [word]byte(v[:word])
		return b[:n+len(v)]
	}
	return append(b, v...)
}

func appendStringHead(b []byte, n int) []byte {
	switch {
	case n < 32:
		return append(b, mpFixStr|byte(n))
	case n <= math.MaxUint8:
		return append(b, mpStr8, byte(n))
	case n <= math.MaxUint16:
		return append(b, mpStr16, byte(n>>8), byte(n))
	}
	return binary.BigEndian.AppendUint32(append(b, mpStr32), uint32(n))
}

func (e *msgpackEncoder) Bytes(v []byte) {
	if e.value() && e.fits(len(v)) {
		e.buf = appendBin(e.buf, v)
	}
}

func appendBin(b, v []byte) []byte {
	switch n := len(v); {
	case n <= math.MaxUint8:
		b = append(b, mpBin8, byte(n))
	case n <= math.MaxUint16:
		b = append(b, mpBin16, byte(n>>8), byte(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, mpBin32), uint32(n))
	}
	return append(b, v...)
}

// Tensor writes {nd: true, type: "<f4", kind: "", shape: [...], data: ...} with keys of the bin
// type, which msgpack_numpy.decode turns back into the array.
func (e *msgpackEncoder) Tensor(dtype DType, shape []int64, data []byte) {
	if !e.tensor(dtype, shape, data) || !e.fits(len(data)) {
		return
	}
	b := append(e.buf, mpFixMap|5)
	b = append(appendBin(b, []byte("nd")), mpTrue)
	b = appendBin(b, []byte("type"))
	b = append(appendStringHead(b, len(dtype.String())), dtype.String()...)
	b = appendBin(appendBin(b, []byte("kind")), nil)
	b = appendCount(appendBin(b, []byte("shape")), len(shape), mpFixArray, mpArray16)
	for _, dim := range shape {
		b = appendInt(b, dim)
	}
	e.buf = appendBin(appendBin(b, []byte("data")), data)
}

func (e *msgpackEncoder) Append(dst []byte) []byte { return e.finish(dst) }
