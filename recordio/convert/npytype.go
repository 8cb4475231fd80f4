package convert

import (
	"strconv"
	"strings"
)

// npyType is the dtype of an array: of one element, as it lies in the file.
type npyType struct {
	kind   byte  // letter of numpy: b i u f c S U V M m, or 0 for a map of fields
	dtype  DType // for the kinds that are numbers
	swap   int   // size of the units whose bytes are the other way round; 0 if none
	size   int   // bytes of an element
	fields []npyField
}

// npyField is a field of a structured dtype.
type npyField struct {
	name   string // "" for bytes that only align
	offset int
	shape  []int64
	size   int // of the field: of all elements of its shape
	typ    npyType
}

// npyKinds are the dtypes that are numbers. Dates are counts.
var npyKinds = map[string]DType{
	"b1": Bool8,
	"i1": Int8, "i2": Int16, "i4": Int32, "i8": Int64,
	"u1": Uint8, "u2": Uint16, "u4": Uint32, "u8": Uint64,
	"f2": Float16, "f4": Float32, "f8": Float64,
	"c8": Complex64, "c16": Complex128,
	"M8": Int64, "m8": Int64,
}

// parseNPYType reads the description of a dtype: a string such as '<f4', or a list of
// fields.
func parseNPYType(descr any) (npyType, error) {
	switch d := descr.(type) {
	case string:
		return parseNPYScalar(d)
	case []any:
		return parseNPYStruct(d)
	}
	return npyType{}, faultf(ErrSyntax, "the header of the array has no 'descr' that is a dtype")
}

// maxElement bounds the size of one element, and with it all sums of sizes.
const maxElement = 1 << 30

func parseNPYScalar(descr string) (npyType, error) {
	order, code := byte('|'), descr
	if descr != "" && strings.IndexByte("<>|=", descr[0]) >= 0 {
		order, code = descr[0], descr[1:]
	}
	code, _, _ = strings.Cut(code, "[") // the unit of a date
	if code == "?" {
		code = "b1"
	}
	if code == "" {
		return npyType{}, faultf(ErrSyntax, "%q is no dtype", descr)
	}
	if dtype, ok := npyKinds[code]; ok {
		t := npyType{kind: code[0], dtype: dtype, size: dtype.Size()}
		return t.ordered(order == '>'), nil
	}
	n, err := strconv.Atoi(code[1:])
	switch {
	case code[0] == 'O':
		return npyType{}, faultf(ErrUnsupported, "an array of Python objects (dtype %q), which only Python can read; save it with a dtype of its own", descr)
	case strings.IndexByte("SUVa", code[0]) < 0 || err != nil || n < 0 || strings.HasPrefix(code[1:], "+"):
		return npyType{}, faultf(ErrUnsupported, "dtype %q is not supported", descr)
	case n > maxElement/4:
		return npyType{}, faultf(ErrLimit, "elements of dtype %q are too large", descr)
	}
	t := npyType{kind: code[0], size: n}
	switch code[0] {
	case 'a':
		t.kind = 'S'
	case 'U':
		t.size = 4 * n
	}
	return t.ordered(order == '>'), nil
}

// ordered returns t with the bytes of its units in that order.
func (t npyType) ordered(bigEndian bool) npyType {
	t.swap = 0
	if !bigEndian {
		return t
	}
	switch unit := t.dtype.Size(); {
	case t.kind == 'U':
		t.swap = 4
	case t.kind == 'c':
		t.swap = unit / 2
	case unit > 1:
		t.swap = unit
	}
	return t
}

// parseNPYStruct reads a list of (name, dtype) and (name, dtype, shape).
func parseNPYStruct(list []any) (npyType, error) {
	var t npyType
	names := map[string]bool{}
	for _, item := range list {
		f, err := parseNPYField(item)
		if err != nil {
			return npyType{}, err
		}
		if f.name != "" && names[f.name] {
			return npyType{}, faultf(ErrSyntax, "two fields of the name %q", f.name)
		}
		names[f.name] = true
		f.offset = t.size
		if t.size += f.size; t.size > maxElement {
			return npyType{}, faultf(ErrLimit, "an element of more than %d bytes", maxElement)
		}
		t.fields = append(t.fields, f)
	}
	return t, nil
}

func parseNPYField(item any) (npyField, error) {
	parts, ok := item.([]any)
	if !ok || len(parts) < 2 || len(parts) > 3 {
		return npyField{}, faultf(ErrSyntax, "%v is no field of a dtype", item)
	}
	name, ok := parts[0].(string)
	if title, both := parts[0].([]any); both && len(title) == 2 {
		name, ok = title[1].(string)
	}
	if !ok {
		return npyField{}, faultf(ErrSyntax, "%v is no name of a field", parts[0])
	}
	typ, err := parseNPYType(parts[1])
	if err != nil {
		return npyField{}, err
	}
	f := npyField{name: name, typ: typ}
	if len(parts) == 3 {
		if f.shape, err = literalShape(parts[2]); err != nil {
			return npyField{}, err
		}
	}
	f.size, err = arraySize(typ, f.shape, maxElement)
	return f, err
}
