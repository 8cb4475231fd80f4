package convert

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"unicode/utf8"
)

// The pickle opcodes used for writing, by their names in pickletools.
const (
	opProto          = 0x80
	opStop           = '.'
	opMark           = '('
	opNone           = 'N'
	opNewTrue        = 0x88
	opNewFalse       = 0x89
	opBinInt         = 'J'
	opBinInt1        = 'K'
	opBinInt2        = 'M'
	opLong1          = 0x8a
	opLong4          = 0x8b
	opBinFloat       = 'G'
	opShortBinString = 'U'
	opBinUnicode     = 'X'
	opEmptyDict      = '}'
	opSetItems       = 'u'
	opEmptyList      = ']'
	opAppends        = 'e'
	opEmptyTuple     = ')'
	opTuple          = 't'
	opTuple1         = 0x85
	opTuple2         = 0x86
	opTuple3         = 0x87
	opGlobal         = 'c'
	opReduce         = 'R'
	opBuild          = 'b'
)

// maxDigits is the length of the longest integer written. Python does not parse longer ones either,
// because the time grows with the square.
const maxDigits = 4300

// pickleEncoder writes pickle protocol 2, which Python 2 and 3 both read: maps as dict, arrays as
// list, text as unicode, bytes as str in Python 2 and bytes in Python 3, tensors as numpy.ndarray.
type pickleEncoder struct{ nesting }

var _ Encoder = (*pickleEncoder)(nil)

func newPickle(l Limits) Encoder {
	e := &pickleEncoder{newNesting(l)}
	e.head = string([]byte{opProto, 2})
	return e
}

func (e *pickleEncoder) Map(n int)   { e.level(inMap, n, opEmptyDict) }
func (e *pickleEncoder) Array(n int) { e.level(inArray, n, opEmptyList) }

func (e *pickleEncoder) level(k kind, n int, op byte) {
	if e.open(k, n) {
		e.buf = append(e.buf, op, opMark)
	}
}

func (e *pickleEncoder) End() {
	l, ok := e.close()
	switch {
	case !ok:
	case l.kind == inMap:
		e.buf = append(e.buf, opSetItems)
	default:
		e.buf = append(e.buf, opAppends)
	}
}

func (e *pickleEncoder) Key(name string) {
	if e.key(name) {
		e.buf = append(appendUnicodeHead(e.buf, len(name)), name...)
	}
}

func (e *pickleEncoder) Nil() { e.op(opNone) }

func (e *pickleEncoder) Bool(v bool) {
	if v {
		e.op(opNewTrue)
	} else {
		e.op(opNewFalse)
	}
}

func (e *pickleEncoder) op(op byte) {
	if e.value() {
		e.buf = append(e.buf, op)
	}
}

func (e *pickleEncoder) Int(v int64) {
	if e.value() {
		e.buf = appendPickleInt(e.buf, v)
	}
}

func appendPickleInt(b []byte, v int64) []byte {
	switch {
	case 0 <= v && v <= math.MaxUint8:
		return append(b, opBinInt1, byte(v))
	case 0 <= v && v <= math.MaxUint16:
		return append(b, opBinInt2, byte(v), byte(v>>8))
	case math.MinInt32 <= v && v <= math.MaxInt32:
		return binary.LittleEndian.AppendUint32(append(b, opBinInt), uint32(v))
	}
	return binary.LittleEndian.AppendUint64(append(b, opLong1, 8), uint64(v))
}

func (e *pickleEncoder) Uint(v uint64) {
	if v <= math.MaxInt64 {
		e.Int(int64(v))
		return
	}
	if e.value() { // one more byte keeps it positive
		e.buf = append(binary.LittleEndian.AppendUint64(append(e.buf, opLong1, 9), v), 0)
	}
}

func (e *pickleEncoder) Float32(v float32) {
	e.note("float32 becomes a float of Python, of the same value")
	e.Float64(float64(v))
}

func (e *pickleEncoder) Float64(v float64) {
	if e.value() {
		e.buf = binary.BigEndian.AppendUint64(append(e.buf, opBinFloat), math.Float64bits(v))
	}
}

func (e *pickleEncoder) Number(text []byte) {
	v, isInteger := parseInteger(text)
	if !isInteger || v.fits() {
		putNumber(e, &e.nesting, text)
		return
	}
	if len(text) > maxDigits {
		e.fail(faultf(ErrLimit, "an integer of %d digits: the limit is %d", len(text), maxDigits))
		return
	}
	if e.value() {
		e.buf = appendLong(e.buf, text)
	}
}

// appendLong appends the integer text as a Python long: the shortest two's complement,
// little-endian.
func appendLong(b, text []byte) []byte {
	v, _ := new(big.Int).SetString(string(text), 10)
	size := v.BitLen()/8 + 1
	if v.Sign() < 0 {
		v.Add(v, new(big.Int).Lsh(big.NewInt(1), uint(size)*8))
	}
	digits := v.FillBytes(make([]byte, size))
	slices.Reverse(digits)
	if size <= math.MaxUint8 {
		b = append(b, opLong1, byte(size))
	} else {
		b = binary.LittleEndian.AppendUint32(append(b, opLong4), uint32(size))
	}
	return append(b, digits...)
}

func (e *pickleEncoder) String(v []byte) {
	if e.value() && e.fits(len(v)) {
		e.buf = append(appendUnicodeHead(e.buf, len(v)), v...)
	}
}

func appendUnicodeHead(b []byte, n int) []byte {
	return binary.LittleEndian.AppendUint32(append(b, opBinUnicode), uint32(n))
}

func (e *pickleEncoder) Bytes(v []byte) {
	if e.value() && e.fits(2*len(v)) {
		e.buf = appendPickleBytes(e.buf, v)
	}
}

// appendPickleBytes appends bytes as Python 3 does in protocol 2, which has no opcode for them: a
// call of _codecs.encode, known to Python 2 and 3, on text whose code points are the bytes.
func appendPickleBytes(b, v []byte) []byte {
	b = appendGlobal(b, "_codecs", "encode")
	head := len(b)
	b = appendUnicodeHead(b, 0)
	text := len(b)
	for _, c := range v {
		b = utf8.AppendRune(b, rune(c))
	}
	binary.LittleEndian.PutUint32(b[head+1:], uint32(len(b)-text))
	return append(appendASCII(b, "latin1"), opTuple2, opReduce)
}

func appendGlobal(b []byte, module, name string) []byte {
	b = append(append(b, opGlobal), module...)
	b = append(append(b, '\n'), name...)
	return append(b, '\n')
}

// appendASCII appends s, short and ASCII, as a native str of Python 2 and 3.
func appendASCII(b []byte, s string) []byte {
	return append(append(b, opShortBinString, byte(len(s))), s...)
}

// Tensor writes the form that numpy writes for an ndarray: a call of _reconstruct for an empty
// array, and its state of version, shape, type, order and bytes.
func (e *pickleEncoder) Tensor(dtype DType, shape []int64, data []byte) {
	if !e.tensor(dtype, shape, data) || !e.fits(2*len(data)) {
		return
	}
	b := appendGlobal(e.buf, "numpy.core.multiarray", "_reconstruct")
	b = appendGlobal(b, "numpy", "ndarray")
	b = append(b, opBinInt1, 0, opTuple1)
	b = append(appendASCII(b, "b"), opTuple3, opReduce)
	b = append(b, opMark, opBinInt1, 1, opMark)
	for _, dim := range shape {
		b = appendPickleInt(b, dim)
	}
	b = appendPickleDType(append(b, opTuple), dtype)
	b = appendPickleBytes(append(b, opNewFalse), data)
	e.buf = append(b, opTuple, opBuild)
}

// appendPickleDType appends numpy.dtype("f4", 0, 1) with the state (3, "<", None, None, None, -1,
// -1, 0).
func appendPickleDType(b []byte, dtype DType) []byte {
	name := dtype.String()
	b = appendASCII(appendGlobal(b, "numpy", "dtype"), name[1:])
	b = append(b, opBinInt1, 0, opBinInt1, 1, opTuple3, opReduce)
	b = appendASCII(append(b, opMark, opBinInt1, 3), name[:1])
	b = append(b, opNone, opNone, opNone)
	b = appendPickleInt(appendPickleInt(b, -1), -1)
	return append(b, opBinInt1, 0, opTuple, opBuild)
}

func (e *pickleEncoder) Append(dst []byte) []byte {
	if e.err == nil && e.top.kind == whole && e.top.have == 1 {
		e.buf = append(e.buf, opStop)
	}
	return e.finish(dst)
}
