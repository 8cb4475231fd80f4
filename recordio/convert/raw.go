package convert

// rawEncoder writes the single bytes or text value of a sample as it is. If a sample has more
// values, it takes the only Bytes or Tensor, so that an image passes through unchanged and its
// label is dropped; if there is none, the only String. Anything else is an error.
type rawEncoder struct {
	nesting
	blobs int    // number of Bytes and Tensors so far, which are in buf
	texts int    // number of Strings so far
	text  []byte // the first String
	more  int    // number of other values so far, without missing ones

	partial bool // the last sample had more than its payload
}

var _ Encoder = (*rawEncoder)(nil)

func newRaw(l Limits) Encoder { return &rawEncoder{nesting: newNesting(l)} }

func (e *rawEncoder) Map(n int)       { e.open(inMap, n) }
func (e *rawEncoder) Array(n int)     { e.open(inArray, n) }
func (e *rawEncoder) End()            { e.close() }
func (e *rawEncoder) Key(name string) { e.key(name) }
func (e *rawEncoder) Nil()            { e.value() }
func (e *rawEncoder) Bool(bool)       { e.other() }
func (e *rawEncoder) Int(int64)       { e.other() }
func (e *rawEncoder) Uint(uint64)     { e.other() }
func (e *rawEncoder) Float32(float32) { e.other() }
func (e *rawEncoder) Float64(float64) { e.other() }
func (e *rawEncoder) Number([]byte)   { e.other() }

// other counts a value that the payload cannot hold.
func (e *rawEncoder) other() {
	if e.value() {
		e.more++
	}
}

func (e *rawEncoder) String(v []byte) {
	if !e.value() {
		return
	}
	if e.texts++; e.texts == 1 && e.fits(len(v)) {
		e.text = append(e.text[:0], v...)
	}
}

func (e *rawEncoder) Bytes(v []byte) {
	if e.value() {
		e.blob(v)
	}
}

func (e *rawEncoder) Tensor(dtype DType, shape []int64, data []byte) {
	if e.notes != nil {
		e.note("an array of " + dtype.title() + " becomes its bytes, without dtype and shape")
	}
	if e.tensor(dtype, shape, data) {
		e.blob(data)
	}
}

func (e *rawEncoder) blob(v []byte) {
	if e.fits(len(v)) {
		e.buf = append(e.buf, v...)
		e.blobs++
	}
}

func (e *rawEncoder) Append(dst []byte) []byte {
	switch {
	case e.blobs == 1:
	case e.blobs == 0 && e.texts == 1:
		e.buf = append(e.buf, e.text...)
	default:
		e.fail(faultf(ErrManyPieces, "the encoding raw takes one piece of bytes or text a record; this one has %d of bytes and %d of text", e.blobs, e.texts))
	}
	e.partial = e.blobs+e.texts+e.more > 1
	dst = e.finish(dst)
	e.blobs, e.texts, e.more = 0, 0, 0
	return dst
}

func (e *rawEncoder) Reset() {
	e.nesting.Reset()
	e.blobs, e.texts, e.more = 0, 0, 0
}
