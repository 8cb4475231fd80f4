package convert

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
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

	column   file.ColumnChunkReader // nil before the first row group
	values   parquetValues
	defs     [parquetBatch]int16
	reps     [parquetBatch]int16
	at, have int // of the levels
	value    int // next of the values
}

// parquetValues are the values of a batch of some type.
type parquetValues interface {
	// read fills the next batch of levels and values out of one page.
	read(defs, reps []int16) (levels, values int, err error)
	// encode gives value i of the batch to enc.
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

// binder returns how a column of one physical type is read: R is its reader.
func binder[R, T any](load func(R, int64, []T, []int16, []int16) (int64, int, error), give func(Encoder, T) error) func(file.ColumnChunkReader) (parquetValues, error) {
	return func(c file.ColumnChunkReader) (parquetValues, error) {
		r, ok := c.(R)
		if !ok {
			return nil, faultf(ErrSyntax, "the column has another type than the schema")
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
		l.bind = binder((*file.Int32ColumnChunkReader).ReadBatchInPage, giverInt32(n))
	case parquet.Types.Int64:
		l.bind = binder((*file.Int64ColumnChunkReader).ReadBatchInPage, giverInt64(n))
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
		return nil, faultf(ErrUnsupported, "column %q has a type that is not known", l.name)
	}
	return l, nil
}

// open begins to read column i of a row group.
func (l *parquetLeaf) open(group *file.RowGroupReader, i int) error {
	err := guard(func() (err error) {
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

// failed puts the name of the column into an error.
func (l *parquetLeaf) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("column %q: %w", l.name, err)
}

// inconsistent is the error of a column that does not fit the others, unless there is
// another one already.
func (l *parquetLeaf) inconsistent(err error) error {
	if err != nil {
		return err
	}
	return faultf(ErrSyntax, "column %q has another number of values than its rows need", l.name)
}

// peek returns the levels of the next entry, and false behind the last one of the row
// group.
func (l *parquetLeaf) peek() (rep, def int16, ok bool, err error) {
	if l.at == l.have {
		if l.column == nil {
			return 0, 0, false, nil
		}
		if err := l.failed(guard(l.fill)); err != nil || l.have == 0 {
			return 0, 0, false, err
		}
	}
	return l.reps[l.at], l.defs[l.at], true, nil
}

// fill reads the next batch; have is 0 behind the last.
func (l *parquetLeaf) fill() error {
	l.at, l.have, l.value = 0, 0, 0
	if !l.column.HasNext() {
		return l.column.Err()
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
		return faultf(ErrSyntax, "a page whose levels and values do not match")
	}
	l.have = levels
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

// next takes the entry that peek showed; value is its place in the batch, if it has
// one.
func (l *parquetLeaf) next() (value int) {
	value = l.value
	if l.defs[l.at] == l.def {
		l.value++
	}
	l.at++
	return value
}
