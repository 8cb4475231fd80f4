package convert

import (
	"math"
	"slices"
	"strconv"
)

// kind is the kind of container of a value.
type kind uint8

const (
	whole kind = iota // none: the value is the record
	inMap
	inArray
)

// level is one open Map or Array.
type level struct {
	kind  kind
	want  int    // announced number of values; negative if unknown
	have  int    // values so far
	start int    // start of this level's payload; for the encoder's use
	key   string // key of the next value, if notes are kept
}

// expected is what the next call may be, besides End.
type expected uint8

const (
	aValue expected = iota
	aKey
	nothing
)

// behindValue is what may follow a value.
var behindValue = [...]expected{whole: nothing, inMap: aKey, inArray: aValue}

// nesting enforces the order of calls and the limits. Encoders embed it and consult it before they
// write.
type nesting struct {
	limits  Limits
	head    string // what a payload begins with
	commas  bool   // the values of arrays have commas between them
	top     level
	expects expected // nothing once err is set
	outer   []level
	buf     []byte
	err     error
	notes   *notes // properties that the payload cannot represent; nil if not requested
}

func newNesting(l Limits) nesting { return nesting{limits: l.withDefaults()} }

// Err implements Encoder.
func (n *nesting) Err() error { return n.err }

// Reset implements Encoder.
func (n *nesting) Reset() {
	n.top, n.expects, n.outer, n.buf, n.err = level{}, aValue, n.outer[:0], n.buf[:0], nil
}

// fail keeps the first error and returns false.
func (n *nesting) fail(err error) bool {
	if n.err == nil {
		n.err, n.expects = err, nothing
	}
	return false
}

var errOrder = faultf(ErrSyntax, "the calls of an Encoder are out of order")

// value starts a value, with what precedes it, and reports whether it is allowed.
func (n *nesting) value() bool {
	if n.expects != aValue || len(n.buf) > n.limits.Record {
		return n.refuse()
	}
	if len(n.buf) == 0 {
		n.buf = append(n.buf, n.head...)
	}
	if n.commas && n.top.kind == inArray && n.top.have > 0 {
		n.buf = append(n.buf, ',')
	}
	n.expects = behindValue[n.top.kind]
	n.top.have++
	return true
}

// refuse records why no value is allowed here.
func (n *nesting) refuse() bool {
	if n.expects != aValue {
		return n.fail(errOrder)
	}
	return n.fail(n.tooLarge())
}

func (n *nesting) tooLarge() error {
	return faultf(ErrLimit, "the payload is larger than the limit of %d bytes a record", n.limits.Record)
}

// key starts a key, and reports whether it is allowed.
func (n *nesting) key(name string) bool {
	if n.expects != aKey {
		return n.fail(errOrder)
	}
	if n.notes != nil {
		n.top.key = name
	}
	n.expects = aValue
	return true
}

// open starts a level of k with want values.
func (n *nesting) open(k kind, want int) bool {
	if !n.value() {
		return false
	}
	if len(n.outer) >= n.limits.Depth {
		return n.fail(faultf(ErrLimit, "values nest deeper than the limit of %d", n.limits.Depth))
	}
	n.outer = append(n.outer, n.top)
	n.top, n.expects = level{kind: k, want: want, start: len(n.buf)}, aValue
	if k == inMap {
		n.expects = aKey
	}
	return true
}

// close ends the innermost level and returns it.
func (n *nesting) close() (level, bool) {
	l := n.top
	keyed := l.kind == inMap && n.expects == aValue
	if n.err != nil || l.kind == whole || keyed || l.want >= 0 && l.want != l.have {
		return level{}, n.fail(errOrder)
	}
	last := len(n.outer) - 1
	n.top, n.outer = n.outer[last], n.outer[:last]
	n.expects = behindValue[n.top.kind]
	return l, true
}

// finish appends the payload to dst if it is complete.
func (n *nesting) finish(dst []byte) []byte {
	if n.top.kind != whole || n.top.have != 1 {
		n.fail(errOrder)
	}
	if len(n.buf) > n.limits.Record {
		n.fail(n.tooLarge())
	}
	if n.err != nil {
		return dst
	}
	dst = append(dst, n.buf...)
	n.Reset()
	return dst
}

// tensor reports whether a tensor of dtype and shape is allowed and fits data.
func (n *nesting) tensor(dtype DType, shape []int64, data []byte) bool {
	if n.err != nil {
		return false
	}
	if size, ok := tensorSize(dtype, shape); !ok || size != int64(len(data)) {
		return n.fail(errTensor)
	}
	return n.value()
}

// tensorSize returns the size of a tensor; false if it overflows or a dimension is negative.
func tensorSize(dtype DType, shape []int64) (size int64, ok bool) {
	if slices.Contains(shape, 0) {
		return 0, slices.Min(shape) == 0 && dtype.known()
	}
	size = int64(dtype.Size())
	for _, dim := range shape {
		if dim < 0 || size > math.MaxInt64/dim {
			return 0, false
		}
		size *= dim
	}
	return size, size > 0
}

var errTensor = faultf(ErrSyntax, "a Tensor's shape and data do not match")

// fits reports whether size more bytes are within the limit of a record, before memory is allocated
// for them.
func (n *nesting) fits(size int) bool {
	if size > n.limits.Record-len(n.buf) {
		return n.fail(n.tooLarge())
	}
	return true
}

// putNumber encodes a JSON number as the type that holds it in 64 bits.
func putNumber(e Encoder, n *nesting, text []byte) {
	v, isInteger := parseInteger(text)
	if !isInteger {
		f, ok := parseFloat(text)
		if !ok {
			n.fail(faultf(ErrLimit, "%s is not a number that a float64 can hold", clip(text)))
			return
		}
		e.Float64(f)
		return
	}
	if i, ok := v.signed(); ok {
		e.Int(i)
	} else if u, ok := v.unsigned(); ok {
		e.Uint(u)
	} else {
		n.fail(faultf(ErrLimit, "the integer %s does not fit 64 bits: the encodings json and pickle hold it", clip(text)))
	}
}

// noteTo makes n add its notes to to.
func (n *nesting) noteTo(to *notes) { n.notes = to }

// note adds something about the next value that the payload does not show.
func (n *nesting) note(what string) {
	if n.notes != nil && n.err == nil {
		n.notes.add(n.place() + what)
	}
}

// place names the next value, as in "[1].tags: "; "" if it is the record. Only the first items of
// the outermost array have numbers.
func (n *nesting) place() string {
	const numbered = 8
	var b []byte
	for i := range n.outer {
		l := n.top
		if i+1 < len(n.outer) {
			l = n.outer[i+1]
			l.have--
		}
		switch {
		case l.kind == inMap && len(b) > 0:
			b = append(append(b, '.'), l.key...)
		case l.kind == inMap:
			b = append(b, l.key...)
		case i == 0 && l.have < numbered:
			b = append(strconv.AppendInt(append(b, '['), int64(l.have), 10), ']')
		default:
			b = append(b, "[]"...)
		}
	}
	if len(b) == 0 {
		return ""
	}
	const longest = 200
	return string(b[:min(len(b), longest)]) + ": "
}
