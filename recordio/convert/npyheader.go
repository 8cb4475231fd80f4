package convert

import "math"

// npyHeader is the description of an array.
type npyHeader struct {
	typ     npyType
	fortran bool
	shape   []int64
}

// maxEmpty bounds the number of elements of size 0, since the size of the file does not bound it.
// An axis of length 0 counts as 1.
const maxEmpty = 1024

// rowSize returns the size of one row in bytes. Rows are counted along the first axis.
func (h npyHeader) rowSize(limit int) (int, error) {
	size := int64(h.typ.size)
	for i, n := range h.shape {
		if i > 0 && n > 0 && size > math.MaxInt32/n {
			return 0, faultf(ErrLimit, "rows of shape %d of %d bytes each are over the limit of %d bytes for a record",
				h.shape[1:], h.typ.size, limit)
		}
		if i > 0 {
			size *= n
		}
	}
	if size > int64(limit) {
		return 0, faultf(ErrLimit, "rows of %d bytes are over the limit of %d for a record", size, limit)
	}
	if size == 0 {
		return 0, h.checkEmpty()
	}
	return int(size), nil
}

// arraySize returns the bytes of an array of that shape.
func arraySize(typ npyType, shape []int64, limit int) (int, error) {
	return npyHeader{typ: typ, shape: append([]int64{1}, shape...)}.rowSize(limit)
}

func (h npyHeader) checkEmpty() error {
	count := int64(1)
	for _, n := range h.shape {
		if n = max(1, n); n > maxEmpty/count {
			return faultf(ErrLimit, "an array of shape %d whose rows have no bytes; at most %d elements are read", h.shape, maxEmpty)
		}
		count *= n
	}
	return nil
}

// parseNPYHeader reads the literal {'descr': ..., 'fortran_order': ..., 'shape': ...}.
func parseNPYHeader(text []byte) (npyHeader, error) {
	v, err := parseLiteral(string(text))
	if err != nil {
		return npyHeader{}, err
	}
	dict, ok := v.(map[string]any)
	if !ok {
		return npyHeader{}, faultf(ErrSyntax, "the header of the array is not a dict")
	}
	var h npyHeader
	if h.fortran, ok = dict["fortran_order"].(bool); !ok {
		return npyHeader{}, faultf(ErrSyntax, "the header of the array has no 'fortran_order'")
	}
	if h.shape, err = literalShape(dict["shape"]); err != nil {
		return npyHeader{}, err
	}
	h.typ, err = parseNPYType(dict["descr"])
	return h, err
}

// maxAxes is numpy's own limit for the axes of an array.
const maxAxes = 64

// literalShape returns the tuple v as a shape.
func literalShape(v any) ([]int64, error) {
	items, ok := v.([]any)
	if !ok {
		return nil, faultf(ErrSyntax, "the header of the array has no tuple 'shape'")
	}
	if len(items) > maxAxes {
		return nil, faultf(ErrLimit, "an array of %d axes; at most %d are read", len(items), maxAxes)
	}
	shape := make([]int64, len(items))
	for i, item := range items {
		n, ok := item.(int64)
		if !ok || n < 0 {
			return nil, faultf(ErrSyntax, "%v is not the length of an axis", item)
		}
		shape[i] = n
	}
	return shape, nil
}
