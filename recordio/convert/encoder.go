package convert

// Encoder builds the payload of one record from a walk over its value: a scalar, or
// a Map or Array of values closed by End. A decoder calls it in the order of the
// sample; one record is exactly one value.
//
// Encoders keep nothing that they are given: every slice may be reused after the
// call. Errors stick: after the first one all calls are ignored until Reset or
// Append. An Encoder belongs to one goroutine.
type Encoder interface {
	// Map begins a map of n pairs, each a Key followed by its value. n < 0 says that
	// the number is not known before End. Keys keep their order, and are not checked
	// for duplicates.
	Map(n int)
	// Array begins an array of n values; n < 0 as for Map.
	Array(n int)
	// End closes the innermost Map or Array. With n >= 0 it is an error to close it
	// after any other number.
	End()
	// Key names the value that follows, inside a Map. name is UTF-8.
	Key(name string)

	Nil()
	Bool(v bool)
	Int(v int64)
	Uint(v uint64)
	Float32(v float32)
	Float64(v float64)
	// Number takes a number as JSON writes it: an integer is kept exactly, or is an
	// error where the payload has no room for it; any other number becomes the
	// nearest float64.
	Number(text []byte)
	// String takes text that the caller knows to be valid UTF-8.
	String(v []byte)
	// Bytes takes bytes of any kind.
	Bytes(v []byte)
	// Tensor takes an array of numbers in row-major order: len(data) is the product of
	// shape times dtype.Size(), and the elements are little-endian. An empty shape is a
	// single number.
	Tensor(dtype DType, shape []int64, data []byte)

	// Err returns what went wrong since the last Reset or Append: a wrong order of
	// calls, or a value that the payload cannot express (ErrUnsupported, ErrLimit).
	Err() error
	// Append appends the finished payload to dst, returns it, and makes the encoder
	// ready for the next record. It must not be called when Err is not nil, nor in the
	// middle of a value: it then appends nothing, and Err says why until Reset.
	Append(dst []byte) []byte
	// Reset drops what was begun and makes the encoder ready for the next record.
	Reset()
}

// DType is the element type of a Tensor.
type DType uint8

// The element types.
const (
	Bool8 DType = iota + 1 // one byte, 0 or 1
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float16
	Float32
	Float64
	Complex64
	Complex128
)

// dtypes holds for each DType its size in bytes and its names in numpy.
var dtypes = [...]struct {
	size        int
	name, title string
}{
	Bool8:      {1, "|b1", "bool"},
	Int8:       {1, "|i1", "int8"},
	Int16:      {2, "<i2", "int16"},
	Int32:      {4, "<i4", "int32"},
	Int64:      {8, "<i8", "int64"},
	Uint8:      {1, "|u1", "uint8"},
	Uint16:     {2, "<u2", "uint16"},
	Uint32:     {4, "<u4", "uint32"},
	Uint64:     {8, "<u8", "uint64"},
	Float16:    {2, "<f2", "float16"},
	Float32:    {4, "<f4", "float32"},
	Float64:    {8, "<f8", "float64"},
	Complex64:  {8, "<c8", "complex64"},
	Complex128: {16, "<c16", "complex128"},
}

func (d DType) known() bool { return d > 0 && int(d) < len(dtypes) }

// Size returns the bytes of one element; 0 for a DType that is none.
func (d DType) Size() int {
	if !d.known() {
		return 0
	}
	return dtypes[d].size
}

// title returns the name that numpy shows for d, such as "float32".
func (d DType) title() string {
	if !d.known() {
		return "none"
	}
	return dtypes[d].title
}

// String returns the name of d in numpy's array interface, such as "<f4".
func (d DType) String() string {
	if !d.known() {
		return "none"
	}
	return dtypes[d].name
}
