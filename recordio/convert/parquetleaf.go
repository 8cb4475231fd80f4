package convert

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// parquetBatch is how many levels are read at once.
const parquetBatch = 1024

// parquetLeaf is a column: it reads levels and values in order.
type parquetLeaf struct {
	name     string
	def, rep int16 // the highest levels
	text     bool  // values are text
	typ      string
	bind     func(file.ColumnChunkReader) (parquetValues, error)

	input    *parquetInput
	pages    pageCheck
	column   file.ColumnChunkReader // nil before the first row group
	values   parquetValues
	defs     [parquetBatch]int16
	reps     [parquetBatch]int16
	left     int64 // number of values not yet read, according to the footer
	at, have int   // position in the levels, and their number
	value    int   // index of the next value
}

// parquetValues are the values of a batch of some type.
type parquetValues interface {
	// read reads the next batch of levels and values from one page.
	read(defs, reps []int16) (levels, values int, err error)
	// encode encodes value i of the batch.
	encode(enc Encoder, i int) error
	// key returns value i as text.
	key(i int) string
}

// valuesOf are the values of one physical type.
type valuesOf[T any] struct {
	load  func(n int64, values []T, defs, reps []int16) (int64, int, error)
	give  func(enc Encoder, v T) error
	batch [parquetBatch]T
}

func (v *valuesOf[T]) read(defs, reps []int16) (int, int, error) {
	levels, values, err := v.load(parquetBatch, v.batch[:], defs, reps)
	return int(levels), values, err
}

func (v *valuesOf[T]) encode(enc Encoder, i int) error { return v.give(enc, v.batch[i]) }

func (v *valuesOf[T]) key(i int) string { return fmt.Sprintf("%s", any(v.batch[i])) }

// binder returns the function that reads a column of one physical type; R is its reader.
func binder[R, T any](load func(R, int64, []T, []int16, []int16) (int64, int, error), give func(Encoder, T) error) func(file.ColumnChunkReader) (parquetValues, error) {
	return func(c file.ColumnChunkReader) (parquetValues, error) {
		r, ok := c.(R)
		if !ok {
			return nil, faultf(ErrDamaged, "the column has another type than the schema")
		}
		return &valuesOf[T]{give: give, load: func(n int64, values []T, defs, reps []int16) (int64, int, error) {
			return load(r, n, values, defs, reps)
		}}, nil
	}
}

func newParquetLeaf(n *schema.PrimitiveNode, def, rep int16) (*parquetLeaf, error) {
	l := &parquetLeaf{name: n.Path(), def: def, rep: rep, text: isParquetText(n), typ: parquetType(n)}
	switch n.PhysicalType() {
	case parquet.Types.Boolean:
		l.bind = binder((*file.BooleanColumnChunkReader).ReadBatchInPage, giveBool)
	case parquet.Types.Int32:
		l.bind = binder((*file.Int32ColumnChunkReader).ReadBatchInPage, giverInt[uint32, int32](n))
	case parquet.Types.Int64:
		l.bind = binder((*file.Int64ColumnChunkReader).ReadBatchInPage, giverInt[uint64, int64](n))
	case parquet.Types.Int96:
		l.bind = binder((*file.Int96ColumnChunkReader).ReadBatchInPage, giveInt96)
	case parquet.Types.Float:
		l.bind = binder((*file.Float32ColumnChunkReader).ReadBatchInPage, giveFloat32)
	case parquet.Types.Double:
		l.bind = binder((*file.Float64ColumnChunkReader).ReadBatchInPage, giveFloat64)
	case parquet.Types.ByteArray:
		l.bind = binder((*file.ByteArrayColumnChunkReader).ReadBatchInPage, giverByteArray(n))
	case parquet.Types.FixedLenByteArray:
		l.bind = binder((*file.FixedLenByteArrayColumnChunkReader).ReadBatchInPage, giverFixed(n))
	default:
		return nil, faultf(ErrUnsupported, "column %q has an unknown type", l.name)
	}
	return l, nil
}

// open begins to read column i of a row group.
func (l *parquetLeaf) open(input *parquetInput, group *file.RowGroupReader, i int) error {
	l.input, input.chunk = input, nil
	err := guard(func() (err error) {
		if l.pages, err = l.newCheck(group, i); err != nil {
			return err
		}
		l.left = l.pages.values
		if l.column != nil {
			if err := l.column.Close(); err != nil {
				return err
			}
		}
		if l.column, err = group.Column(i); err == nil {
			l.values, err = l.bind(l.column)
		}
		return err
	})
	l.at, l.have, l.value = 0, 0, 0
	return l.failed(err)
}

// newCheck returns the check of the pages of column i in group. It refuses compressions that the
// library does not support.
func (l *parquetLeaf) newCheck(group *file.RowGroupReader, i int) (pageCheck, error) {
	chunk, err := group.MetaData().ColumnChunk(i)
	if err != nil {
		return pageCheck{}, err
	}
	codec := chunk.Compression()
	if _, err := compress.GetCodec(codec); err != nil {
		return pageCheck{}, faultf(ErrUnsupported, "its pages are compressed with %s, which is not supported", codec)
	}
	return pageCheck{values: chunk.NumValues(), plain: codec == compress.Codecs.Uncompressed, start: -1, head: l.pages.head[:0]}, nil
}

// failed adds the name of the column to an error.
func (l *parquetLeaf) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("column %q: %w", l.name, err)
}

// inconsistent is the error of a column that does not match the others, unless there is an earlier
// error.
func (l *parquetLeaf) inconsistent(err error) error {
	if err != nil {
		return err
	}
	return faultf(ErrDamaged, "column %q has another number of values than its rows need", l.name)
}

// peek returns the levels of the next entry, and false after the last one of the row group.
func (l *parquetLeaf) peek() (rep, def int16, ok bool, err error) {
	if l.at == l.have {
		if l.column == nil {
			return 0, 0, false, nil
		}
		if err := l.load(); err != nil || l.have == 0 {
			return 0, 0, false, err
		}
	}
	return l.reps[l.at], l.defs[l.at], true, nil
}

// load calls fill, and adds the position of the pages to its error.
func (l *parquetLeaf) load() error {
	l.input.chunk = &l.pages
	err := guard(l.fill)
	switch {
	case l.pages.err != nil: // even if the library has not reached that page
		err = l.pages.err
	case errors.Is(err, ErrDamaged) && l.pages.start >= 0:
		err = fmt.Errorf("in its pages from offset %d on: %w", l.pages.start, err)
	}
	return l.failed(err)
}

// fill reads the next batch; have is 0 after the last. It requests only values that exist: for
// lists in version 2 pages the library would read beyond the last page.
func (l *parquetLeaf) fill() error {
	l.at, l.have, l.value = 0, 0, 0
	if l.left <= 0 {
		return nil
	}
	for !l.column.HasNext() { // also at a page without values, as pyarrow writes them before lists
		if err := l.column.Err(); err != nil {
			return err
		}
		if l.pages.empty == 0 {
			return faultf(ErrDamaged, "%d values are missing that the footer counts", l.left)
		}
		l.pages.empty--
	}
	levels, values, err := l.values.read(l.defs[:], l.reps[:])
	if err != nil {
		return err
	}
	if l.def == 0 {
		levels = values
		clear(l.defs[:])
	}
	if l.rep == 0 {
		clear(l.reps[:])
	}
	if levels <= 0 || levels > parquetBatch || values != l.defined(levels) {
		return faultf(ErrDamaged, "a page whose levels and values do not match")
	}
	l.have, l.left = levels, l.left-int64(levels)
	return nil
}

// defined returns how many of the first n entries have a value.
func (l *parquetLeaf) defined(n int) int {
	count := 0
	for _, d := range l.defs[:n] {
		if d == l.def {
			count++
		}
	}
	return count
}

// next consumes the entry that peek showed; value is its index in the batch, if it has one.
func (l *parquetLeaf) next() (value int) {
	value = l.value
	if l.defs[l.at] == l.def {
		l.value++
	}
	l.at++
	return value
}
