package convert

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// batch is the result of a worker: the payloads of consecutive records.
type batch struct {
	payloads []byte
	ends     []int // end of each payload in payloads
	bad      []badRecord
	lines    int64 // input lines that it covers
	bytes    int64 // input bytes that it covers
	err      error // error that ends the input
	partial  int64 // samples whose payload holds only a part of them

	notes   []string // notes on the input
	columns []Column // columns of the input, in its first batch, if its decoder knows them
}

// badRecord is a record that was omitted from a batch.
type badRecord struct {
	after int // number of records of the batch before it
	err   *RecordError
	raw   []byte // its bytes in the input, for formats of lines
}

func (b *batch) reset() {
	*b = batch{payloads: b.payloads[:0], ends: b.ends[:0], bad: b.bad[:0]}
}

// add appends the record that enc holds, or the reason why it cannot be encoded.
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

// full reports whether the batch is large enough to be delivered.
func (b *batch) full() bool {
	return len(b.payloads) >= blockSize/2 || len(b.ends)+len(b.bad) >= mostAtOnce
}

// mostAtOnce is the maximum number of undelivered records that use memory of their own.
const mostAtOnce = 4096

// drop adds a bad record.
func (b *batch) drop(err *RecordError, raw []byte) {
	b.bad = append(b.bad, badRecord{after: len(b.ends), err: err, raw: bytes.Clone(raw)})
}

// blockRecords are the unparsed records of a block.
type blockRecords struct {
	data    []byte
	parser  lineParser
	counted int   // position in data up to which lines are counted
	line    int64 // number of lines there
}

func newBlockRecords(data []byte, p lineParser) *blockRecords {
	p.block(data)
	return &blockRecords{data: data, parser: p, line: 1}
}

// some makes a batch of the next records and reports whether there are more. It takes all records
// unless too many are bad. Lines and offsets count from the start of the block; only the last batch
// states the size of the block.
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

// decodeSome makes a batch of a decoder's next records and reports whether there are more. row is
// the number of records before them.
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
