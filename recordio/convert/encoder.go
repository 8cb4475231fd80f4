package convert

// Encoder builds the payload of one record from a walk over its value: a scalar, or a Map or Array
// of values closed by End. A decoder calls it in the order of the sample; one record is exactly one
// value.
//
// Encoders retain none of their arguments: slices may be reused after the call. Errors are sticky:
// after the first one all calls are ignored until Reset or Append. An Encoder belongs to one
// goroutine.
type Encoder interface {
	// Map begins a map of n pairs, each a Key followed by its value. n < 0 means that the number is
	// unknown before End. Keys keep their order and are not checked for duplicates.
	Map(n int)
	// Array begins an array of n values; n < 0 as for Map.
	Array(n int)
	// End closes the innermost Map or Array. If n was >= 0, the number of values must be n.
	End()
	// Key names the value that follows, inside a Map. name is UTF-8.
	Key(name string)

	Nil()
	Bool(v bool)
	Int(v int64)
	Uint(v uint64)
	Float32(v float32)
	Float64(v float64)
	// Number encodes a JSON number. An integer is kept exactly, or is an error if the payload
	// cannot represent it; any other number becomes the nearest float64.
	Number(text []byte)
	// String encodes text that the caller knows to be valid UTF-8.
	String(v []byte)
	// Bytes encodes arbitrary bytes.
	Bytes(v []byte)
	// Tensor encodes an array of numbers in row-major order: len(data) is the product of shape
	// times dtype.Size(), and the elements are little-endian. An empty shape is a single number.
	Tensor(dtype DType, shape []int64, data []byte)

	// Err returns the first error since the last Reset or Append: a wrong order of calls, or a
	// value that the payload cannot express (ErrUnsupported, ErrLimit).
	Err() error
	// Append appends the finished payload to dst and prepares the encoder for the next record. If
	// Err is not nil, or in the middle of a value, it appends nothing, and Err returns the reason
	// until Reset.
	Append(dst []byte) []byte
	// Reset discards the current record.
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

// Size returns the size of one element in bytes; 0 for an invalid DType.
func (d DType) Size() int {
	if !d.known() {
		return 0
	}
	return dtypes[d].size
}

// title returns numpy's name for d, such as "float32".
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
