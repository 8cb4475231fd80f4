package convert

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// batch is what a worker hands over: the payloads of some records in a row.
type batch struct {
	payloads []byte
	ends     []int // where each payload ends in payloads
	bad      []badRecord
	lines    int64 // lines that the batch was made of
	bytes    int64 // bytes of the input that it was made of
	err      error // ends the input
	partial  int64 // samples of which only a part is in payloads

	notes   []string // of the input
	columns []Column // of the input, in its first batch, if its decoder knows them
}

// badRecord is a record that was left out of a batch.
type badRecord struct {
	after int // how many records of the batch come before it
	err   *RecordError
	raw   []byte // what the input has there, if it has lines
}

func (b *batch) reset() {
	*b = batch{payloads: b.payloads[:0], ends: b.ends[:0], bad: b.bad[:0]}
}

// add appends the record that enc holds, or why it cannot be one.
func (b *batch) add(enc Encoder) error {
	if enc.Err() == nil {
		b.payloads = enc.Append(b.payloads)
	}
	if err := enc.Err(); err != nil {
		enc.Reset()
		return err
	}
	b.ends = append(b.ends, len(b.payloads))
	if raw, ok := enc.(*rawEncoder); ok && raw.partial {
		b.partial++
	}
	return nil
}

// full reports whether the batch is worth handing over.
func (b *batch) full() bool {
	return len(b.payloads) >= blockSize/2 || len(b.ends)+len(b.bad) >= mostAtOnce
}

// mostAtOnce is how many records wait for delivery that take memory of their own.
const mostAtOnce = 4096

// drop notes a bad record.
func (b *batch) drop(err *RecordError, raw []byte) {
	b.bad = append(b.bad, badRecord{after: len(b.ends), err: err, raw: bytes.Clone(raw)})
}

// blockRecords are the records of a block that are still to be parsed.
type blockRecords struct {
	data    []byte
	parser  lineParser
	counted int   // up to where in data lines were counted,
	line    int64 // and which is there
}

func newBlockRecords(data []byte, p lineParser) *blockRecords {
	p.block(data)
	return &blockRecords{data: data, parser: p, line: 1}
}

// some makes a batch of the next records, of all if not too many are bad, and reports
// whether there are more. Lines and offsets are counted from the start of the block,
// whose size only the last batch has.
func (r *blockRecords) some(enc Encoder, b *batch) (more bool) {
	b.payloads = slices.Grow(b.payloads, len(r.data))
	for len(b.bad) < mostAtOnce {
		start, end, err := r.parser.parse(enc)
		if err == io.EOF {
			b.lines, b.bytes = int64(bytes.Count(r.data, newline)), int64(len(r.data))
			return false
		}
		if err == nil {
			err = b.add(enc)
		} else {
			enc.Reset()
		}
		if err != nil {
			r.line += int64(bytes.Count(r.data[r.counted:start], newline))
			r.counted = start
			b.drop(&RecordError{Line: r.line, Offset: int64(start), Err: err}, trimEnd(r.data[start:end]))
		}
	}
	return true
}

var newline = []byte("\n")

// decodeSome makes a batch of the next records of a decoder, and reports whether
// there are more. row is the number of records before them.
func decodeSome(d Decoder, row *int64, enc Encoder, b *batch) (more bool) {
	for !b.full() {
		err := d.Next(enc)
		if err == io.EOF {
			return false
		}
		*row++
		if err == nil {
			err = b.add(enc)
			if err != nil {
				err = &RecordError{Row: *row, Offset: -1, Err: err}
			}
		} else {
			enc.Reset()
		}
		var bad *RecordError
		switch {
		case errors.As(err, &bad):
			b.drop(bad, nil)
		case err != nil:
			b.err = err
			return false
		}
	}
	return true
}
