package convert

import (
	"encoding/binary"
	"io"

	"golang.org/x/text/encoding/charmap"
)

// npyFormat reads arrays as numpy.save writes them, versions 1 to 3 of the format. The record is
// row i of the array, along its first axis: a number, a tensor, bytes (S and V), text (U), or for a
// structured dtype a map in the order of its fields, without unnamed padding fields. datetime64 and
// timedelta64 are counts in the unit of their dtype, which Stats.Columns states. An array without
// axes is one record.
//
// Arrays in Fortran order need random access, or must fit into the limit of a record. Arrays of
// Python objects are pickles, which this format does not read.
var npyFormat = Format{
	Name:       "npy",
	Doc:        "numpy.save: row i of the array",
	Extensions: []string{".npy"},
	Sniff:      func(head []byte) bool { return len(head) >= 10 && string(head[:6]) == npyMark },
	open: func(in Input, opts Options) (Decoder, error) {
		rows, err := openNPY(in, opts.Limits.withDefaults())
		if err != nil {
			return nil, err
		}
		return &npyDecoder{rows: rows}, nil
	},
}

const npyMark = "\x93NUMPY"

// maxNPYHeader is the longest accepted header; numpy itself stops at 10,000 bytes.
const maxNPYHeader = 1 << 20

// npyDecoder decodes the rows of one array.
type npyDecoder struct {
	rows *npyRows
	n    int64
}

// columns implements described: the fields of a structured dtype, or one column without a name,
// which is the record.
func (d *npyDecoder) columns() []Column {
	if r := d.rows; r.typ.kind != 0 || len(r.shape) > 0 {
		return []Column{{Type: r.typ.typeText(r.shape)}}
	}
	return d.rows.typ.columns()
}

func (d *npyDecoder) Next(enc Encoder) error {
	if d.n == d.rows.count {
		return d.rows.finish()
	}
	row, err := d.rows.next()
	if err != nil {
		return err
	}
	d.n++
	if err := d.rows.typ.encode(enc, row, d.rows.shape); err != nil {
		return &RecordError{Row: d.n, Offset: d.rows.offset(), Err: err}
	}
	return nil
}

// npyRows reads one array row by row.
type npyRows struct {
	typ    npyType
	count  int64   // of rows
	single bool    // a number without axes, read as one row
	shape  []int64 // of a row
	size   int     // of a row in bytes
	source rowSource
	head   int64 // where the data begins, in bytes
	done   int64 // rows returned
}

// rowSource returns the bytes of rows in row-major order. They are valid until the next call.
type rowSource interface {
	row() ([]byte, error)
	// ended returns io.EOF if nothing follows the last row.
	ended() error
}

// next returns the bytes of the next row, which must exist.
func (r *npyRows) next() ([]byte, error) {
	b, err := r.source.row()
	if err == nil {
		r.done++
	}
	return b, err
}

// finish is called after the last row; it returns io.EOF.
func (r *npyRows) finish() error { return r.source.ended() }

// offset returns the start of the last row that next returned; in Fortran order, that of its first
// element.
func (r *npyRows) offset() int64 {
	if f, ok := r.source.(*fortranRows); ok {
		return r.head + (r.done-1)*int64(f.item)
	}
	return r.head + (r.done-1)*int64(r.size)
}

// openNPY reads the header of an array.
func openNPY(in Input, limits Limits) (*npyRows, error) {
	c := newCounter(in.Reader)
	head, err := readNPYHeader(c)
	if err != nil {
		return nil, err
	}
	h, err := parseNPYHeader(head)
	if err != nil {
		return nil, err
	}
	r := &npyRows{typ: h.typ, count: 1, single: len(h.shape) == 0, head: c.off}
	if !r.single {
		r.count, r.shape = h.shape[0], h.shape[1:]
	}
	if r.size, err = h.rowSize(limits.Record); err != nil {
		return nil, err
	}
	if left := in.Size - c.off; in.Size >= 0 && r.size > 0 && r.count > left/int64(r.size) {
		return nil, faultf(ErrTruncated, "an array of %d rows of %d bytes, and only %d bytes are left", r.count, r.size, left)
	}
	r.source, err = newRowSource(in, c, h, r, limits.Record)
	return r, err
}

// newRowSource selects how rows are read.
func newRowSource(in Input, c *counter, h npyHeader, r *npyRows, limit int) (rowSource, error) {
	if h.fortran && len(h.shape) > 1 {
		return newFortranRows(in, c, h, r.count, limit)
	}
	return &plainRows{c: c, size: r.size}, nil
}

// readNPYHeader returns the description of the array, a Python literal.
func readNPYHeader(c *counter) ([]byte, error) {
	b, err := c.need(nil, 8, "the header of the array")
	if err != nil {
		return nil, err
	}
	if string(b[:6]) != npyMark {
		return nil, faultf(ErrSyntax, "not an array of numpy: it begins with %.8q", b)
	}
	version := b[6]
	width := 4
	switch version {
	case 1:
		width = 2
	case 2, 3:
	default:
		return nil, faultf(ErrUnsupported, "version %d of the array format; 1 to 3 are known", version)
	}
	if b, err = c.need(b, width, "the header of the array"); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint16(b))
	if width == 4 {
		n = int64(binary.LittleEndian.Uint32(b))
	}
	if n > maxNPYHeader {
		return nil, faultf(ErrLimit, "a header of %d bytes; at most %d are read", n, maxNPYHeader)
	}
	b, err = c.need(b, int(n), "the header of the array")
	if err == nil && version < 3 {
		return charmap.ISO8859_1.NewDecoder().Bytes(b)
	}
	return b, err
}

// plainRows reads rows that are contiguous.
type plainRows struct {
	c    *counter
	size int
	buf  []byte
}

func (p *plainRows) row() ([]byte, error) {
	var err error
	p.buf, err = p.c.need(p.buf, p.size, "a row of the array")
	return p.buf, err
}

func (p *plainRows) ended() error {
	if err := p.c.ended("the array"); err != nil {
		return err
	}
	return io.EOF
}
