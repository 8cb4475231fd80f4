package convert

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// encode encodes the elements at b, which have the given shape. It may change b.
func (t npyType) encode(enc Encoder, b []byte, shape []int64) error {
	switch {
	case t.kind != 0 && t.dtype != 0 && len(shape) > 0:
		t.normalize(b)
		enc.Tensor(t.dtype, shape, b)
		return nil
	case len(shape) == 0:
		return t.scalar(enc, b)
	}
	enc.Array(int(shape[0]))
	size := len(b) / int(max(1, shape[0]))
	for i := range int(shape[0]) {
		if err := t.encode(enc, b[i*size:][:size], shape[1:]); err != nil {
			return err
		}
	}
	enc.End()
	return nil
}

// normalize converts numbers to the form of a Tensor: little-endian, and booleans 0 or 1.
func (t npyType) normalize(b []byte) {
	if t.dtype == Bool8 {
		for i, v := range b {
			if v != 0 {
				b[i] = 1
			}
		}
	}
	t.swapBytes(b)
}

func (t npyType) swapBytes(b []byte) {
	switch t.swap {
	case 2:
		for i := 0; i+2 <= len(b); i += 2 {
			b[i], b[i+1] = b[i+1], b[i]
		}
	case 4:
		for i := 0; i+4 <= len(b); i += 4 {
			binary.LittleEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
		}
	case 8:
		for i := 0; i+8 <= len(b); i += 8 {
			binary.LittleEndian.PutUint64(b[i:], binary.BigEndian.Uint64(b[i:]))
		}
	}
}

// scalar encodes the single element at b.
func (t npyType) scalar(enc Encoder, b []byte) error {
	if t.kind == 0 {
		return t.structure(enc, b)
	}
	if t.dtype != 0 {
		t.normalize(b)
		encodeNumber(enc, t.dtype, b)
		return nil
	}
	switch t.kind {
	case 'U':
		t.swapBytes(b)
		return encodeUTF32(enc, b)
	case 'S':
		enc.Bytes(bytes.TrimRight(b, "\x00"))
	default:
		enc.Bytes(b)
	}
	return nil
}

func (t npyType) structure(enc Encoder, b []byte) error {
	enc.Map(-1)
	for _, f := range t.fields {
		if f.name == "" {
			continue
		}
		if !utf8.ValidString(f.name) {
			return faultf(ErrSyntax, "the name of field %q is not UTF-8", f.name)
		}
		enc.Key(f.name)
		if err := f.typ.encode(enc, b[f.offset:f.offset+f.size], f.shape); err != nil {
			return err
		}
	}
	enc.End()
	return nil
}

// encodeNumber encodes the little-endian number at b. Half floats become float32; complex numbers
// stay a tensor.
func encodeNumber(enc Encoder, d DType, b []byte) {
	le := binary.LittleEndian
	switch d {
	case Bool8:
		enc.Bool(b[0] != 0)
	case Int8:
		enc.Int(int64(int8(b[0])))
	case Int16:
		enc.Int(int64(int16(le.Uint16(b))))
	case Int32:
		enc.Int(int64(int32(le.Uint32(b))))
	case Int64:
		enc.Int(int64(le.Uint64(b)))
	case Uint8:
		enc.Uint(uint64(b[0]))
	case Uint16:
		enc.Uint(uint64(le.Uint16(b)))
	case Uint32:
		enc.Uint(uint64(le.Uint32(b)))
	case Uint64:
		enc.Uint(le.Uint64(b))
	case Float16:
		enc.Float32(halfFloat(le.Uint16(b)))
	case Float32:
		enc.Float32(math.Float32frombits(le.Uint32(b)))
	case Float64:
		enc.Float64(math.Float64frombits(le.Uint64(b)))
	default:
		enc.Tensor(d, nil, b)
	}
}

// encodeUTF32 encodes the text at b, little-endian and padded with zeros.
func encodeUTF32(enc Encoder, b []byte) error {
	text := make([]byte, 0, len(b)/4)
	zeros := 0 // zeros not yet written: they may be padding
	for ; len(b) >= 4; b = b[4:] {
		r := binary.LittleEndian.Uint32(b)
		if r == 0 {
			zeros++
			continue
		}
		if r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
			return faultf(ErrSyntax, "U+%04X in a text is not a character", r)
		}
		text = append(text, bytes.Repeat([]byte{0}, zeros)...)
		text, zeros = utf8.AppendRune(text, rune(r)), 0
	}
	enc.String(text)
	return nil
}
