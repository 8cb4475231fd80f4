package payload

import (
	"bytes"
	"math"

	"github.com/paddlecloud/pfs/recordio/convert"
)

// dtypes maps the names of numpy to element types.
var dtypes = func() map[string]convert.DType {
	m := map[string]convert.DType{}
	for t := convert.Bool8; t <= convert.Complex128; t++ {
		m[t.String()] = t
	}
	return m
}()

// The keys of an array, as msgpack-numpy and convert write them.
var (
	tensorHead  = []byte("\xc4\x02nd\xc3\xc4\x04type")
	tensorKind  = []byte("\xc4\x04kind\xc4\x00")
	tensorShape = []byte("\xc4\x05shape")
	tensorData  = []byte("\xc4\x04data")
)

// tensor walks a map of n pairs if it is an array of numbers in exactly the form that convert
// writes. It leaves any other map to the caller.
func (w *walker) tensor(n uint64) (done bool, err error) {
	rest := w.b[w.at:]
	if n != 5 || !bytes.HasPrefix(rest, tensorHead) {
		return false, nil
	}
	t := &walker{b: rest, at: len(tensorHead)}
	name, ok := t.sized('T')
	dtype, known := dtypes[string(name)]
	if !ok || !known || !t.skip(tensorKind) || !t.skip(tensorShape) {
		return false, nil
	}
	shape, ok := t.shape()
	if !ok || !t.skip(tensorData) {
		return false, nil
	}
	data, ok := t.sized('B')
	if size, fits := product(shape, dtype.Size()); !ok || !fits || size != int64(len(data)) {
		return false, nil
	}
	w.at += t.at
	w.enc.Tensor(dtype, shape, data)
	return true, nil
}

// skip consumes want, which must come next.
func (w *walker) skip(want []byte) bool {
	if !bytes.HasPrefix(w.b[w.at:], want) {
		return false
	}
	w.at += len(want)
	return true
}

// sized reads a text or bytes.
func (w *walker) sized(want byte) ([]byte, bool) {
	kind, n, err := w.token()
	if err != nil || kind != want {
		return nil, false
	}
	p, err := w.take(n)
	return p, err == nil
}

// maxDims is the largest number of dimensions in numpy.
const maxDims = 64

func (w *walker) shape() (shape []int64, ok bool) {
	kind, n, err := w.token()
	if err != nil || kind != 'A' || n > maxDims {
		return nil, false
	}
	for range n {
		kind, dim, err := w.token()
		if err != nil || kind != 'I' && kind != 'U' || dim > math.MaxInt32 {
			return nil, false
		}
		shape = append(shape, int64(dim))
	}
	return shape, true
}

// product returns the bytes of an array; false if they are more than a record can have.
func product(shape []int64, size int) (int64, bool) {
	n := int64(size)
	for _, dim := range shape {
		if dim < 0 || dim > 0 && n > math.MaxInt32/dim {
			return 0, false
		}
		n *= dim
	}
	return n, true
}
