package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// parquetFormat reads Parquet files. The record is a row, as a map of its columns in the order of
// the schema: lists become arrays, structs become maps, and so do maps with text as keys; other
// maps become arrays of maps of "key" and "value".
//
// Dates, times and timestamps are counts in the unit of their column, which Stats.Columns states;
// so are types that only the Arrow schema in the footer has. Values of the old type INT96 are
// nanoseconds since 1970. Decimals become text, which is exact. Text must be UTF-8. Directories
// such as year=2024 in the name of the input are text columns after those of the file.
//
// Checksums of pages are verified if present. Headers of pages have none: their counts and sizes
// are compared with the footer.
//
// Columns are read page by page: memory is a few pages a column, and bounded in total.
var parquetFormat = Format{
	Name:       "parquet",
	Doc:        "Parquet: a row, as a map by column",
	Extensions: []string{".parquet", ".parq"},
	Sniff:      func(head []byte) bool { return bytes.HasPrefix(head, []byte(parquetMark)) },
	open: func(in Input, opts Options) (Decoder, error) {
		d, err := openParquet(in, opts.Limits.withDefaults())
		if err == nil && opts.Encoding != rawName { // raw takes one value a row
			d.parts = partitionsOf(in.Name, d.root)
		}
		return d, err
	},
}

const parquetMark = "PAR1"

// parquetDecoder decodes one row group after the other.
type parquetDecoder struct {
	input  *parquetInput
	file   *file.Reader
	root   *parquetNode
	leaves []*parquetLeaf
	parts  []partition
	limit  int
	told   notes

	group int   // the next one to read
	last  int   // the one after those to read
	rows  int64 // rows left in the current group
	n     int64
}

func openParquet(in Input, limits Limits) (*parquetDecoder, error) {
	if in.ReaderAt == nil {
		return nil, faultf(ErrUnsupported, "a Parquet file is read from its end, so not from a pipe and not inside gzip or zstd; decompress it into a file")
	}
	if err := checkParquetFooter(in, limits.Record); err != nil {
		return nil, err
	}
	props := parquet.NewReaderProperties(newBoundedMemory(4 * int64(limits.Record)))
	props.BufferedStreamEnabled = true
	page := 2 * int64(limits.Record)
	props.MaxCompressedPageSize, props.MaxUncompressedPageSize = page, page
	d := &parquetDecoder{limit: limits.Record}
	err := guard(func() (err error) {
		d.input = &parquetInput{SectionReader: io.NewSectionReader(in.ReaderAt, 0, in.Size)}
		d.file, err = file.NewParquetReader(d.input, file.WithReadProps(props))
		return err
	})
	if err != nil {
		return nil, err
	}
	if d.root, d.leaves, err = newParquetSchema(d.file.MetaData().Schema); err != nil {
		return nil, err
	}
	d.refine()
	if d.last = d.file.NumRowGroups(); in.to > 0 {
		d.last = d.groupAt(in, in.to)
	}
	for d.group < d.groupAt(in, in.from) {
		d.n += d.file.MetaData().RowGroups[d.group].GetNumRows()
		d.group++
	}
	if in.from > 0 {
		d.told = notes{} // the first part has told them
	}
	return d, nil
}

// groupAt returns the first row group in the part of in that begins with byte n. Row groups count as equally large.
func (d *parquetDecoder) groupAt(in Input, n int64) int {
	groups := int64(d.file.NumRowGroups())
	return int((min(n, in.Size)*groups + in.Size - 1) / in.Size)
}

func (d *parquetDecoder) Next(enc Encoder) error {
	for d.rows == 0 {
		if err := d.nextGroup(); err != nil {
			return err
		}
	}
	d.rows--
	d.n++
	row := parquetRow{enc: enc, room: d.limit}
	if err := row.record(d.root, d.parts); err != nil {
		return d.failed(err)
	}
	for _, leaf := range d.leaves {
		if rep, _, ok, err := leaf.peek(); err != nil || ok && rep != 0 {
			return d.failed(leaf.inconsistent(err))
		}
	}
	if row.bad != nil {
		return &RecordError{Row: d.n, Offset: -1, Err: row.bad}
	}
	return nil
}

// nextGroup opens the next row group. It returns io.EOF after the last.
func (d *parquetDecoder) nextGroup() error {
	for _, leaf := range d.leaves {
		if _, _, ok, err := leaf.peek(); err != nil || ok {
			return d.failed(leaf.inconsistent(err))
		}
	}
	if d.group >= d.last {
		return io.EOF
	}
	group := d.file.RowGroup(d.group)
	d.group++
	for i, leaf := range d.leaves {
		if err := leaf.open(d.input, group, i); err != nil {
			return d.failed(err)
		}
	}
	if d.rows = group.NumRows(); d.rows < 0 {
		return d.failed(faultf(ErrDamaged, "%d rows by the footer", d.rows))
	}
	return nil
}

// failed adds the position to an error.
func (d *parquetDecoder) failed(err error) error {
	return fmt.Errorf("row %d, in row group %d of %d: %w", d.n, d.group, d.file.NumRowGroups(), err)
}

// guard calls fn, which calls the library, and returns an error if the file is damaged. The library
// panics, in this goroutine, on some damage and when memory runs out.
func guard(fn func() error) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *fault:
			err = v
		default:
			err = faultf(ErrDamaged, "damaged: %v", v)
		}
	}()
	return parquetError(fn())
}

// parquetError classifies an error of the library. Errors of the input stay unchanged.
func parquetError(err error) error {
	var known *fault
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &parquetFault{err}
}

// parquetFault is an error of the library: the file is damaged, unless the input failed.
type parquetFault struct{ err error }

func (f *parquetFault) Error() string   { return f.err.Error() }
func (f *parquetFault) Unwrap() []error { return []error{f.err, ErrDamaged} }
