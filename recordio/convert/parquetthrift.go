package convert

import "encoding/binary"

// The types of thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
	thriftUUID   = 13
)

// maxThriftDepth is the maximum nesting of values; a footer needs less than ten levels.
const maxThriftDepth = 64

var errFooter = faultf(ErrDamaged, "the footer is damaged")

// thriftReader walks over values of thrift's compact protocol and stores none.
type thriftReader struct {
	rest  []byte
	depth int
}

func (w *thriftReader) skip(n uint64) error {
	if n > uint64(len(w.rest)) {
		return errFooter
	}
	w.rest = w.rest[n:]
	return nil
}

func (w *thriftReader) byte() (byte, error) {
	if len(w.rest) == 0 {
		return 0, errFooter
	}
	b := w.rest[0]
	w.rest = w.rest[1:]
	return b, nil
}

func (w *thriftReader) varint() (uint64, error) {
	v, n := binary.Uvarint(w.rest)
	if n <= 0 {
		return 0, errFooter
	}
	w.rest = w.rest[n:]
	return v, nil
}

// integer reads an i16, i32 or i64.
func (w *thriftReader) integer() (int64, error) {
	v, err := w.varint()
	return int64(v>>1) ^ -int64(v&1), err
}

// structure calls field for each field of a struct; field must read the value.
func (w *thriftReader) structure(field func(id int64, typ byte) error) error {
	if w.depth++; w.depth > maxThriftDepth {
		return errFooter
	}
	defer func() { w.depth-- }()
	for id := int64(0); ; {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		if delta := int64(head >> 4); delta != 0 {
			id += delta
		} else {
			if id, err = w.integer(); err != nil {
				return err
			}
		}
		if err := field(id, head&0xf); err != nil {
			return err
		}
	}
}

// list calls element for each element of a list or set. An element takes at least a byte, so the
// number of bytes left bounds their number.
func (w *thriftReader) list(element func(typ byte) error) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	if n > uint64(len(w.rest)) {
		return errFooter
	}
	for range n {
		if err := element(head & 0xf); err != nil {
			return err
		}
	}
	return nil
}

// value skips a value of that type.
func (w *thriftReader) value(typ byte) error {
	switch typ {
	case thriftTrue, thriftFalse: // the field's type is its value
		return nil
	case thriftByte:
		return w.skip(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := w.varint()
		return err
	case thriftDouble:
		return w.skip(8)
	case thriftUUID:
		return w.skip(16)
	case thriftBinary:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case thriftList, thriftSet:
		if w.depth++; w.depth > maxThriftDepth {
			return errFooter
		}
		defer func() { w.depth-- }()
		return w.list(w.element)
	case thriftStruct:
		return w.structure(func(_ int64, typ byte) error { return w.value(typ) })
	case thriftMap:
		return w.pairs()
	}
	return errFooter
}

// element skips an element of a collection, in which a boolean takes a byte.
func (w *thriftReader) element(typ byte) error {
	if typ == thriftTrue || typ == thriftFalse {
		return w.skip(1)
	}
	return w.value(typ)
}

// pairs skips a map.
func (w *thriftReader) pairs() error {
	n, err := w.varint()
	if err != nil || n == 0 {
		return err
	}
	types, err := w.byte()
	if err != nil {
		return err
	}
	if n > uint64(len(w.rest)) {
		return errFooter
	}
	if w.depth++; w.depth > maxThriftDepth {
		return errFooter
	}
	defer func() { w.depth-- }()
	for range n {
		if err := w.element(types >> 4); err != nil {
			return err
		}
		if err := w.element(types & 0xf); err != nil {
			return err
		}
	}
	return nil
}
