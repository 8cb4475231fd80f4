package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// npyType is the dtype of one element as stored in the file.
type npyType struct {
	kind   byte   // letter of numpy: b i u f c S U V M m, or 0 for a map of fields
	dtype  DType  // for the kinds that are numbers
	swap   int    // size of the units to byte-swap; 0 if none
	size   int    // bytes of an element
	unit   string // of M and m, such as "[s]"; "" if it has none
	fields []npyField
}

// npyField is a field of a structured dtype.
type npyField struct {
	name   string // "" for padding
	offset int
	shape  []int64
	size   int // size of the field: of all elements of its shape
	typ    npyType
}

// npyKinds are the numeric dtypes. Dates are counts.
var npyKinds = map[string]DType{
	"b1": Bool8,
	"i1": Int8, "i2": Int16, "i4": Int32, "i8": Int64,
	"u1": Uint8, "u2": Uint16, "u4": Uint32, "u8": Uint64,
	"f2": Float16, "f4": Float32, "f8": Float64,
	"c8": Complex64, "c16": Complex128,
	"M8": Int64, "m8": Int64,
}

// parseNPYType parses the description of a dtype: a string such as '<f4', or a list of fields.
func parseNPYType(descr any) (npyType, error) {
	switch d := descr.(type) {
	case string:
		return parseNPYScalar(d)
	case []any:
		return parseNPYStruct(d)
	}
	return npyType{}, faultf(ErrSyntax, "the header of the array has no 'descr' that is a dtype")
}

// maxElement bounds the size of one element, so that sums of sizes cannot overflow.
const maxElement = 1 << 30

func parseNPYScalar(descr string) (npyType, error) {
	order, code := byte('|'), descr
	if descr != "" && strings.IndexByte("<>|=", descr[0]) >= 0 {
		order, code = descr[0], descr[1:]
	}
	code, unit, dated := strings.Cut(code, "[")
	if dated {
		unit = "[" + unit
	}
	if code == "?" {
		code = "b1"
	}
	if code == "" {
		return npyType{}, faultf(ErrSyntax, "%q is not a dtype", descr)
	}
	if dtype, ok := npyKinds[code]; ok && isUnit(code, unit) {
		t := npyType{kind: code[0], dtype: dtype, size: dtype.Size(), unit: unit}
		return t.ordered(order == '>'), nil
	}
	n, err := strconv.Atoi(code[1:])
	switch {
	case code[0] == 'O':
		return npyType{}, faultf(ErrUnsupported, "an array of Python objects (dtype %q), which only Python can read; save it with a dtype of its own", descr)
	case dated || strings.IndexByte("SUVa", code[0]) < 0 || err != nil || n < 0 || strings.HasPrefix(code[1:], "+"):
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

// isUnit reports whether a dtype may have that unit, as in "[s]" and "[25s]"; "" is no unit.
func isUnit(code, unit string) bool {
	if unit == "" {
		return true
	}
	name := strings.TrimLeft(strings.Trim(unit, "[]"), "0123456789")
	return (code == "M8" || code == "m8") && len(unit) < 16 && unit[len(unit)-1] == ']' &&
		slices.Contains(strings.Fields("Y M W D h m s ms us ns ps fs as"), name)
}

// typeText names elements of that shape as in the manifest, such as "float32[2,3]".
func (t npyType) typeText(shape []int64) string {
	var text string
	switch {
	case t.kind == 0:
		var fields []string
		for _, c := range t.columns() {
			fields = append(fields, fieldText(c.Name, c.Type))
		}
		text = "struct<" + strings.Join(fields, ", ") + ">"
	case t.kind == 'M':
		text = "datetime64" + t.unit
	case t.kind == 'm':
		text = "timedelta64" + t.unit
	case t.dtype != 0:
		text = t.dtype.title()
	case t.kind == 'U':
		text = "U" + strconv.Itoa(t.size/4)
	default:
		text = string(t.kind) + strconv.Itoa(t.size)
	}
	if len(shape) > 0 {
		text += strings.ReplaceAll(fmt.Sprint(shape), " ", ",")
	}
	return text
}

// columns are the fields of a structured dtype.
func (t npyType) columns() (list []Column) {
	for _, f := range t.fields {
		if f.name != "" {
			list = append(list, Column{Name: f.name, Type: f.typ.typeText(f.shape)})
		}
	}
	return list
}

// loss describes the conversion of a numpy value of that shape to another type; "" if the type
// stays.
func (t npyType) loss(shape []int64) string {
	what := t.typeText(nil)
	switch t.kind { // one note for elements of all lengths
	case 'U':
		what = TypeText.String()
	case 'S', 'V':
		what = TypeBytes.String()
	}
	if len(shape) > 0 {
		what = "an array of " + what
	}
	switch scalar := len(shape) == 0; {
	case t.kind == 'M' || t.kind == 'm':
		return what + " becomes int64, the count of its unit; NaT is -9223372036854775808"
	case t.kind == 0 && scalar:
		return what + " becomes a map"
	case t.kind == 0:
		return what + " becomes lists of maps"
	case t.dtype == 0 && !scalar:
		return what + " becomes lists, without the dtype of numpy"
	case scalar && t.dtype != Complex64 && t.dtype != Complex128:
		return what + " of numpy becomes a plain value"
	}
	return ""
}

// ordered returns t with the given byte order.
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
			return npyType{}, faultf(ErrSyntax, "two fields named %q", f.name)
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
		return npyField{}, faultf(ErrSyntax, "%v is not a field of a dtype", item)
	}
	name, ok := parts[0].(string)
	if title, both := parts[0].([]any); both && len(title) == 2 {
		name, ok = title[1].(string)
	}
	if !ok {
		return npyField{}, faultf(ErrSyntax, "%v is not the name of a field", parts[0])
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
