package convert

import (
	"bytes"
	"fmt"
	"io"
	"iter"
)

// fortranBlock is how many bytes of rows are gathered at once.
const fortranBlock = 8 << 20

// fortranRows reads the rows of an array in Fortran order, in which consecutive elements of a row
// are as far apart as the array has rows. For a block of rows it reads the section of each column,
// and puts the elements in row-major order.
type fortranRows struct {
	columns io.ReaderAt // begins at the first element
	item    int         // bytes of an element
	count   int64       // rows of the array
	place   []int       // column f of the file is element place[f] of a row

	block []byte // rows in row-major order
	rest  []byte // rows not yet returned
	piece []byte // buffer for the section of one column
	next  int64  // first row of the next block
	after func() error
}

// maxColumns bounds the index of columns.
const maxColumns = 1 << 24

func newFortranRows(in Input, c *counter, h npyHeader, count int64, limit int) (*fortranRows, error) {
	columns := int64(1)
	for _, n := range h.shape[1:] {
		if columns *= n; columns > maxColumns {
			return nil, faultf(ErrLimit, "rows of more than %d elements in Fortran order; save the array in C order", maxColumns)
		}
	}
	f := &fortranRows{item: h.typ.size, count: count, place: rowPlaces(h.shape[1:], int(columns))}
	if in.ReaderAt != nil {
		size := count * columns * int64(f.item) // at most in.Size, as openNPY has checked
		f.columns = io.NewSectionReader(in.ReaderAt, c.off, size)
		f.after = func() error { return endsAt(c.off+size, in.Size) }
		return f, nil
	}
	if columns > 0 && f.item > 0 && count > int64(limit)/columns/int64(f.item) {
		return nil, faultf(ErrLimit, "an array in Fortran order of more than %d bytes can only be read from a file that is not compressed", limit)
	}
	data, err := c.need(nil, int(count*columns)*f.item, "the array")
	f.columns = bytes.NewReader(data)
	f.after = func() error { return c.ended("the array") }
	return f, err
}

// endsAt returns an error unless the array, which ends at end, is the whole input.
func endsAt(end, size int64) error {
	if end < size {
		return faultf(ErrSyntax, "the input continues after the end of the array, at offset %d", end)
	}
	return nil
}

// rowPlaces returns for each column of rows of that shape its index in a row.
func rowPlaces(shape []int64, columns int) []int {
	places := make([]int, 0, columns)
	for place := range fortranPlaces(shape, columns) {
		places = append(places, place)
	}
	return places
}

// fortranPlaces iterates over the count elements of an array with the first index varying fastest,
// and yields their indices in row-major order.
func fortranPlaces(shape []int64, count int) iter.Seq[int] {
	return func(yield func(int) bool) {
		index := make([]int64, len(shape))
		for range count {
			place := int64(0)
			for axis, i := range index {
				place = place*shape[axis] + i
			}
			if !yield(int(place)) {
				return
			}
			for axis := range index {
				if index[axis]++; index[axis] < shape[axis] {
					break
				}
				index[axis] = 0
			}
		}
	}
}

func (f *fortranRows) row() ([]byte, error) {
	size := len(f.place) * f.item
	if size == 0 {
		return nil, nil
	}
	if len(f.rest) == 0 {
		if err := f.fill(size); err != nil {
			return nil, err
		}
	}
	row := f.rest[:size]
	f.rest = f.rest[size:]
	return row, nil
}

// fill gathers the next block of rows of size bytes.
func (f *fortranRows) fill(size int) error {
	rows := int(min(f.count-f.next, int64(max(1, fortranBlock/size))))
	if f.block == nil {
		f.block, f.piece = make([]byte, rows*size), make([]byte, rows*f.item)
	}
	block, piece := f.block[:rows*size], f.piece[:rows*f.item]
	for column, place := range f.place {
		off := (int64(column)*f.count + f.next) * int64(f.item)
		if n, err := f.columns.ReadAt(piece, off); n < len(piece) {
			return fortranFailed(err, off+int64(n))
		}
		for i := range rows {
			copy(block[i*size+place*f.item:][:f.item], piece[i*f.item:])
		}
	}
	f.next += int64(rows)
	f.rest = block
	return nil
}

// fortranFailed adds the position to a read error.
func fortranFailed(err error, off int64) error {
	if err == io.EOF {
		return faultf(ErrTruncated, "the input ends in the middle of the array, at byte %d of its data", off)
	}
	return fmt.Errorf("read the array at byte %d of its data: %w", off, err)
}

func (f *fortranRows) ended() error {
	if err := f.after(); err != nil {
		return err
	}
	return io.EOF
}
