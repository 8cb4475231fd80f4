package convert

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// arrowFormat reads Arrow IPC, files (also called Feather) and streams, which Hugging Face stores.
// The record is a row, in the form in which Parquet gives it. Files are read in order, so also from
// a pipe. Memory is one batch of rows, and the dictionaries.
var arrowFormat = Format{
	Name:       "arrow",
	Doc:        "Arrow IPC, files (Feather) and streams: a row, as a map by column",
	Extensions: []string{".arrow", ".feather", ".ipc", ".arrows"},
	Sniff:      func(head []byte) bool { return bytes.HasPrefix(head, []byte(arrowMark)) || isArrowStream(head) },
	open:       func(in Input, opts Options) (Decoder, error) { return openArrow(in, opts.Limits.withDefaults()) },
}

const (
	arrowMark   = "ARROW1"
	arrowPadded = "ARROW1\x00\x00"               // the start of a file
	arrowNext   = "\xff\xff\xff\xff"             // begins a message
	arrowEnd    = arrowNext + "\x00\x00\x00\x00" // ends a stream
)

// isArrowStream reports whether head begins with the length of a message and a flatbuffer.
func isArrowStream(head []byte) bool {
	if len(head) < 16 || !bytes.HasPrefix(head, []byte(arrowNext)) {
		return false
	}
	length, root := binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[8:])
	return length%8 == 0 && length > 8 && length < 1<<24 && root < length
}

// arrowDecoder decodes one record batch after the other.
type arrowDecoder struct {
	tail   *tailReader
	isFile bool
	reader *ipc.Reader
	list   []Column
	told   notes

	batch arrow.RecordBatch
	row   int // the next one in batch
	n     int64
}

func openArrow(in Input, limits Limits) (*arrowDecoder, error) {
	d := &arrowDecoder{tail: &tailReader{r: in.Reader}}
	head := make([]byte, len(arrowPadded))
	if _, err := io.ReadFull(d.tail, head); err != nil {
		return nil, arrowError(err)
	}
	var stream io.Reader = d.tail
	if d.isFile = string(head) == arrowPadded; !d.isFile {
		stream = io.MultiReader(bytes.NewReader(head), d.tail)
	}
	most := 4 * int64(limits.Record)
	err := guard(func() (err error) {
		d.reader, err = ipc.NewReader(&messageReader{r: stream, most: limits.Record, large: most}, ipc.WithAllocator(newBoundedMemory(most)),
			ipc.WithMetadataSizeLimit(int64(limits.Record)), ipc.WithBodySizeLimit(most))
		return arrowError(err)
	})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range d.reader.Schema().Fields() {
		typ, err := arrowType(f.Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		d.list, names = append(d.list, Column{Name: f.Name, Type: typ}), append(names, f.Name)
	}
	if err := unlike(ErrUnsupported, "the schema has", names); err != nil {
		return nil, err
	}
	if len(d.list) == 0 {
		return nil, faultf(ErrUnsupported, "a file without columns")
	}
	return d, nil
}

// columns implements described.
func (d *arrowDecoder) columns() []Column { return d.list }

// notes implements noting.
func (d *arrowDecoder) notes() *notes { return &d.told }

func (d *arrowDecoder) Next(enc Encoder) error {
	for d.batch == nil || int64(d.row) == d.batch.NumRows() {
		if err := d.nextBatch(); err != nil {
			return err
		}
	}
	row := d.row
	d.row++
	d.n++
	var bad error
	err := guard(func() error {
		enc.Map(len(d.list))
		for i, c := range d.list {
			enc.Key(c.Name)
			if err := giveArrow(enc, d.batch.Column(i), row); err != nil && bad == nil {
				bad = fmt.Errorf("column %q: %w", c.Name, err)
			}
		}
		enc.End()
		return nil
	})
	if err != nil {
		return fmt.Errorf("row %d: %w", d.n, err)
	}
	if bad != nil {
		return &RecordError{Row: d.n, Offset: -1, Err: bad}
	}
	return nil
}

// maxEmptyRows bounds the rows of a batch that has no bytes, whose number nothing confirms.
const maxEmptyRows = 1 << 20

// nextBatch reads the next batch. It returns io.EOF after the last.
func (d *arrowDecoder) nextBatch() error {
	more := false
	err := guard(func() error {
		if more = d.reader.Next(); !more {
			return arrowError(d.reader.Err())
		}
		d.batch, d.row = d.reader.RecordBatch(), 0
		bytes := 0
		for i, column := range d.batch.Columns() {
			if int64(column.Len()) != d.batch.NumRows() {
				return faultf(ErrDamaged, "column %q has %d rows of %d", d.list[i].Name, column.Len(), d.batch.NumRows())
			}
			if !strings.Contains(d.list[i].Type, nullType) { // the library does not know the form of those
				if err := array.ValidateFull(column); err != nil {
					return faultf(ErrDamaged, "column %q: %v", d.list[i].Name, err)
				}
			}
			for _, b := range column.Data().Buffers() {
				if b != nil {
					bytes += b.Len()
				}
			}
			bytes += len(column.Data().Children())
		}
		if bytes == 0 && d.batch.NumRows() > maxEmptyRows {
			return faultf(ErrLimit, "%d rows have no bytes; at most %d are read", d.batch.NumRows(), maxEmptyRows)
		}
		return nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("after row %d: %w", d.n, err)
	case !more:
		return d.end()
	}
	return nil
}

// end checks how the input ends: a stream may end anywhere between two batches, so that nothing
// else tells a cut.
func (d *arrowDecoder) end() error {
	if _, err := io.Copy(io.Discard, d.tail); err != nil {
		return err
	}
	switch {
	case d.isFile && !bytes.HasSuffix(d.tail.last, []byte(arrowMark)):
		return faultf(ErrTruncated, "after row %d: the file ends without its footer", d.n)
	case !d.isFile && !bytes.HasSuffix(d.tail.last, []byte(arrowEnd)):
		d.told.add("the stream has no mark at its end: it is complete, or cut off after a batch of rows")
	}
	return io.EOF
}

// tailReader keeps the last bytes that were read.
type tailReader struct {
	r    io.Reader
	last []byte
}

func (r *tailReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.last = append(r.last, p[max(0, n-len(arrowEnd)):n]...)
	r.last = append(r.last[:0], r.last[max(0, len(r.last)-len(arrowEnd)):]...)
	return n, err
}

// arrowError classifies an error of the library. One of this package comes back from it without the library's words.
func arrowError(err error) error {
	if f := new(fault); errors.As(err, &f) {
		return f
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return faultf(ErrTruncated, "the file ends in the middle of a message")
	}
	return err
}
