package convert

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
)

// jsonEncoder writes JSON without spaces. Bytes become base64; a tensor becomes nested arrays. A
// number that JSON lacks (not a number, infinite, complex) is an error.
type jsonEncoder struct {
	nesting
	shown bool // show such numbers as Shown does, instead of failing
}

var _ Encoder = (*jsonEncoder)(nil)

func newJSON(l Limits) Encoder { return newJSONEncoder(l, false) }

func newShown(l Limits) Encoder { return newJSONEncoder(l, true) }

func newJSONEncoder(l Limits, shown bool) *jsonEncoder {
	e := &jsonEncoder{newNesting(l), shown}
	e.commas = true
	return e
}

func (e *jsonEncoder) Map(n int)   { e.level(inMap, n, '{') }
func (e *jsonEncoder) Array(n int) { e.level(inArray, n, '[') }

func (e *jsonEncoder) level(k kind, n int, bracket byte) {
	if e.open(k, n) {
		e.buf = append(e.buf, bracket)
	}
}

func (e *jsonEncoder) End() {
	l, ok := e.close()
	switch {
	case !ok:
	case l.kind == inMap:
		e.buf = append(e.buf, '}')
	default:
		e.buf = append(e.buf, ']')
	}
}

func (e *jsonEncoder) Key(name string) {
	if !e.key(name) {
		return
	}
	if e.top.have > 0 {
		e.buf = append(e.buf, ',')
	}
	e.buf = append(appendQuoted(e.buf, name), ':')
}

func (e *jsonEncoder) Nil() { e.text("null") }

func (e *jsonEncoder) Bool(v bool) {
	if v {
		e.text("true")
	} else {
		e.text("false")
	}
}

func (e *jsonEncoder) text(s string) {
	if e.value() {
		e.buf = append(e.buf, s...)
	}
}

func (e *jsonEncoder) Int(v int64) {
	if e.value() {
		e.buf = strconv.AppendInt(e.buf, v, 10)
	}
}

func (e *jsonEncoder) Uint(v uint64) {
	if e.value() {
		e.buf = strconv.AppendUint(e.buf, v, 10)
	}
}

func (e *jsonEncoder) Float32(v float32) {
	e.note("float32 becomes the shortest number that reads back as the same float32")
	e.float(float64(v), 32)
}

func (e *jsonEncoder) Float64(v float64) { e.float(v, 64) }

func (e *jsonEncoder) float(v float64, bits int) {
	if e.value() {
		e.real(v, bits)
	}
}

// notFinite writes a number that JSON lacks.
func (e *jsonEncoder) notFinite(v float64) {
	switch {
	case !e.shown:
		e.fail(faultf(ErrUnsupported, "JSON has no number %v: the encodings msgpack and pickle hold it", v))
	case math.IsNaN(v):
		e.buf = append(e.buf, `"NaN"`...)
	case v > 0:
		e.buf = append(e.buf, `"Infinity"`...)
	default:
		e.buf = append(e.buf, `"-Infinity"`...)
	}
}

// appendFloat appends the shortest text that reads back as v. It uses an exponent only for very
// large and very small values, and never looks like an integer.
func appendFloat(b []byte, v float64, bits int) []byte {
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	start := len(b)
	b = strconv.AppendFloat(b, v, format, -1, bits)
	for _, c := range b[start:] {
		if c == '.' || c == 'e' {
			return b
		}
	}
	return append(b, ".0"...)
}

func (e *jsonEncoder) Number(text []byte) {
	if e.value() && e.fits(len(text)) {
		e.buf = append(e.buf, text...)
	}
}

func (e *jsonEncoder) String(v []byte) {
	if e.value() && e.fits(len(v)) {
		e.buf = appendQuoted(e.buf, v)
	}
}

const hexDigits = "0123456789abcdef"

// appendQuoted appends s, which is UTF-8, as a JSON string with the mandatory escapes only.
func appendQuoted[T string | []byte](b []byte, s T) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func (e *jsonEncoder) Bytes(v []byte) {
	e.note("bytes become text, in base64")
	if e.value() && e.fits(base64.StdEncoding.EncodedLen(len(v))) {
		e.buf = append(base64.StdEncoding.AppendEncode(append(e.buf, '"'), v), '"')
	}
}

// Tensor writes arrays nested as deep as there are dimensions.
func (e *jsonEncoder) Tensor(dtype DType, shape []int64, data []byte) {
	if e.notes != nil {
		e.note("an array of " + dtype.title() + " becomes lists of numbers, without its dtype")
	}
	switch {
	case !e.shown && (dtype == Complex64 || dtype == Complex128):
		e.fail(faultf(ErrUnsupported, "JSON has no complex numbers: the encodings msgpack and pickle hold them"))
	case len(e.outer)+len(shape) > e.limits.Depth:
		e.fail(faultf(ErrLimit, "an array of %d dimensions: values nest deeper than the limit of %d", len(shape), e.limits.Depth))
	default:
		if e.tensor(dtype, shape, data) {
			e.elements(dtype, shape, data)
		}
	}
}

// elements writes the part of a tensor with the dimensions shape.
func (e *jsonEncoder) elements(dtype DType, shape []int64, data []byte) {
	if len(shape) == 0 {
		e.element(dtype, data)
		return
	}
	e.buf = append(e.buf, '[')
	part := 0
	if shape[0] > 0 {
		part = len(data) / int(shape[0])
	}
	for i := range int(shape[0]) {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if e.elements(dtype, shape[1:], data[i*part:(i+1)*part]); e.err != nil || !e.fits(0) {
			return
		}
	}
	e.buf = append(e.buf, ']')
}

// element writes one number of a tensor.
func (e *jsonEncoder) element(dtype DType, p []byte) {
	le := binary.LittleEndian
	switch dtype {
	case Bool8:
		e.buf = strconv.AppendBool(e.buf, p[0] != 0)
	case Int8:
		e.buf = strconv.AppendInt(e.buf, int64(int8(p[0])), 10)
	case Int16:
		e.buf = strconv.AppendInt(e.buf, int64(int16(le.Uint16(p))), 10)
	case Int32:
		e.buf = strconv.AppendInt(e.buf, int64(int32(le.Uint32(p))), 10)
	case Int64:
		e.buf = strconv.AppendInt(e.buf, int64(le.Uint64(p)), 10)
	case Uint8:
		e.buf = strconv.AppendUint(e.buf, uint64(p[0]), 10)
	case Uint16:
		e.buf = strconv.AppendUint(e.buf, uint64(le.Uint16(p)), 10)
	case Uint32:
		e.buf = strconv.AppendUint(e.buf, uint64(le.Uint32(p)), 10)
	case Uint64:
		e.buf = strconv.AppendUint(e.buf, le.Uint64(p), 10)
	case Float16:
		e.real(float64(halfFloat(le.Uint16(p))), 32)
	case Float32:
		e.real(float64(math.Float32frombits(le.Uint32(p))), 32)
	case Float64:
		e.real(math.Float64frombits(le.Uint64(p)), 64)
	case Complex64:
		e.complex(Float32, p)
	case Complex128:
		e.complex(Float64, p)
	}
}

func (e *jsonEncoder) real(v float64, bits int) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		e.notFinite(v)
		return
	}
	e.buf = appendFloat(e.buf, v, bits)
}

// complex writes the real and the imaginary part; the latter is the second half of p.
func (e *jsonEncoder) complex(part DType, p []byte) {
	e.buf = append(e.buf, '[')
	e.element(part, p[:len(p)/2])
	e.buf = append(e.buf, ',')
	e.element(part, p[len(p)/2:])
	e.buf = append(e.buf, ']')
}

func (e *jsonEncoder) Append(dst []byte) []byte { return e.finish(dst) }
