package convert

import (
	"encoding/binary"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"
)

// pickleWriter encodes one value.
type pickleWriter struct {
	enc   Encoder
	at    io.ReaderAt // of the input; nil if none
	depth int         // how deep values may still nest
	room  int         // bytes, and values, still allowed
	inner bool        // the value is a part of the record
}

// note records that a value changes its type.
func (w *pickleWriter) note(what string) {
	if n, ok := w.enc.(noter); ok && what != "" {
		n.note(what)
	}
}

// value encodes v. A value that occurs several times is written each time; room bounds the total.
func (w *pickleWriter) value(v any) error {
	if err := w.take(1); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		w.enc.Nil()
	case bool:
		w.enc.Bool(v)
	case int64:
		w.enc.Int(v)
	case float64:
		w.enc.Float64(v)
	case *big.Int:
		w.bigInt(v)
	case *pickleTime:
		w.note("a value of type " + v.typ + " becomes a number")
		w.enc.Int(v.count)
	case complex128:
		w.note("a complex number becomes an array of complex128 without axes")
		w.complex(v)
	case *pickleText:
		return w.text(v)
	case *pickleArray:
		return w.array(v)
	case pickleTuple:
		if w.inner { // the outermost tuple only holds the fields of the sample
			w.note("a tuple becomes an array")
		}
		return w.items(v)
	case *pickleList:
		if v.set {
			w.note("a set becomes an array")
		}
		if v.given {
			return faultf(ErrUnsupported, "a list that contains itself")
		}
		return w.items(v.items)
	case *pickleDict:
		return w.dict(v)
	default:
		return faultf(ErrUnsupported, "a class of Python, which is not data")
	}
	return nil
}

func (w *pickleWriter) take(n int) error {
	if w.room -= n; w.room < 0 {
		return faultf(ErrLimit, "the values of the sample exceed the limit for a record")
	}
	return nil
}

func (w *pickleWriter) bigInt(v *big.Int) {
	if v.IsUint64() {
		w.enc.Uint(v.Uint64())
		return
	}
	w.enc.Number(v.Append(nil, 10))
}

func (w *pickleWriter) complex(v complex128) {
	b := binary.LittleEndian.AppendUint64(nil, math.Float64bits(real(v)))
	w.enc.Tensor(Complex128, nil, binary.LittleEndian.AppendUint64(b, math.Float64bits(imag(v))))
}

func (w *pickleWriter) text(t *pickleText) error {
	data, err := t.load(w.at)
	if err != nil {
		return err
	}
	if err := w.take(len(data)); err != nil {
		return err
	}
	if t.decimal {
		w.note("a Decimal becomes text")
	}
	if t.array {
		w.note("a bytearray becomes bytes")
	}
	valid := t.kind != byteText && utf8.Valid(data)
	switch {
	case valid:
		w.enc.String(data)
	case t.kind == unicodeText:
		return faultf(ErrSyntax, "a text that is not UTF-8: %.40q", data)
	default:
		w.enc.Bytes(data)
	}
	return nil
}

// deeper calls fn one level deeper.
func (w *pickleWriter) deeper(fn func() error) error {
	if w.depth--; w.depth < 0 {
		return faultf(ErrLimit, "values nest deeper than the limit, or contain themselves")
	}
	w.inner = true
	err := fn()
	w.depth++
	return err
}

func (w *pickleWriter) items(items []any) error {
	return w.deeper(func() error {
		w.enc.Array(len(items))
		for _, item := range items {
			if err := w.value(item); err != nil {
				return err
			}
		}
		w.enc.End()
		return nil
	})
}

func (w *pickleWriter) dict(d *pickleDict) error {
	return w.deeper(func() error {
		if d.defaults {
			w.note("a defaultdict becomes a map")
		}
		if d.ordered {
			w.note("an OrderedDict becomes a map")
		}
		if slices.ContainsFunc(d.keys, func(key any) bool { _, is := key.(int64); return is }) {
			w.note("keys of a dict that are integers become text")
		}
		w.enc.Map(len(d.keys))
		for i, key := range d.keys {
			name, err := w.key(key)
			if err != nil {
				return err
			}
			w.enc.Key(name)
			if err := w.value(d.values[i]); err != nil {
				return err
			}
		}
		w.enc.End()
		return nil
	})
}

// key returns a dict key as text. Integers are written in decimal.
func (w *pickleWriter) key(key any) (string, error) {
	if n, ok := key.(int64); ok {
		return strconv.FormatInt(n, 10), w.take(8)
	}
	t, ok := key.(*pickleText)
	if !ok {
		return "", faultf(ErrUnsupported, "a key of a dict that is neither text nor an integer")
	}
	data, err := t.load(w.at)
	if err == nil && !utf8.Valid(data) {
		err = faultf(ErrUnsupported, "a key of a dict that is not UTF-8: %.40q", data)
	}
	if err != nil {
		return "", err
	}
	return string(data), w.take(len(data))
}

// array encodes a numpy array.
func (w *pickleWriter) array(a *pickleArray) error {
	if a.data == nil {
		return faultf(ErrSyntax, "an array of numpy without its data")
	}
	size, err := arraySize(a.typ, a.shape, w.room)
	if err != nil {
		return err
	}
	data, err := a.data.load(w.at)
	if err != nil {
		return err
	}
	if len(data) != size {
		return faultf(ErrSyntax, "an array of numpy of shape %d and %d bytes an element has %d bytes", a.shape, a.typ.size, len(data))
	}
	if err := w.take(size); err != nil {
		return err
	}
	w.note(a.typ.loss(a.shape))
	return a.typ.encode(w.enc, a.rowMajor(data), a.shape)
}

// rowMajor returns a copy of data, which may be shared, in row-major order.
func (a *pickleArray) rowMajor(data []byte) []byte {
	out := make([]byte, len(data))
	if !a.fortran || len(a.shape) < 2 || len(data) == 0 {
		copy(out, data)
		return out
	}
	item := a.typ.size
	for place := range fortranPlaces(a.shape, len(data)/item) {
		copy(out[place*item:], data[:item])
		data = data[item:]
	}
	return out
}
