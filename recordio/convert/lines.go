package convert

import (
	"bytes"
	"errors"
	"io"
)

// lineFormat reads a format of lines. Inputs are cut into blocks between records, and the blocks
// are parsed in parallel. One goroutine calls all methods; only the parsers run concurrently.
type lineFormat interface {
	// head is cut for the start of an input, which begin examines; 0 if it must be longer.
	head(p []byte) int
	// begin examines the start of the next input: whole records, and all of a short input. It
	// returns how many bytes precede the records.
	begin(head []byte) (skip int, err error)
	// next returns the length of the record at the start of p, including its line end. p is one or
	// more whole records; the last may lack its line end. An error concerns this record only; n is
	// then the length to skip.
	next(p []byte) (n int, err error)
	// cut returns the length of the whole records at the start of p, which is not the end of the
	// input. next finds the same records.
	cut(p []byte) int
	// blank reports whether line, a record without its end, is to be skipped.
	blank(line []byte) bool
	// parser returns a parser for one block of the input that was begun last.
	parser() lineParser
}

// lineParser parses the records of one block.
type lineParser interface {
	// block starts parsing p, whole records. The last may lack its line end.
	block(p []byte)
	// parse encodes the next record and returns its position in the block. After the last it
	// returns io.EOF; any other error concerns this record only.
	parse(enc Encoder) (start, end int, err error)
}

// newlines cuts formats with one record on each line.
type newlines struct{}

func (n newlines) head(p []byte) int        { return n.cut(p) }
func (newlines) begin([]byte) (int, error)  { return 0, nil }
func (newlines) next(p []byte) (int, error) { return firstLine(p), nil }
func (newlines) cut(p []byte) int           { return bytes.LastIndexByte(p, '\n') + 1 }
func (newlines) blank(line []byte) bool     { return len(bytes.Trim(line, " \t\r")) == 0 }

// lineCursor walks over the lines of a block.
type lineCursor struct {
	data []byte
	pos  int
}

func (c *lineCursor) block(p []byte) { c.data, c.pos = p, 0 }

// line returns the next line without its end, and its position with it.
func (c *lineCursor) line() (line []byte, start, end int, err error) {
	if c.pos == len(c.data) {
		return nil, c.pos, c.pos, io.EOF
	}
	start, end = c.pos, len(c.data)
	if i := bytes.IndexByte(c.data[start:], '\n'); i >= 0 {
		end = start + i + 1
	}
	c.pos = end
	return trimEnd(c.data[start:end]), start, end, nil
}

// trimEnd returns p without the "\n" or "\r\n" at its end.
func trimEnd(p []byte) []byte {
	if n := len(p); n > 0 && p[n-1] == '\n' {
		p = p[:n-1]
	}
	if n := len(p); n > 0 && p[n-1] == '\r' {
		p = p[:n-1]
	}
	return p
}

// rawLines yields records as their bytes, without line ends.
type rawLines struct {
	checked
	format lineFormat
	data   []byte
	pos    int
}

func (r *rawLines) block(p []byte) { r.data, r.pos = p, 0 }

func (r *rawLines) parse(enc Encoder) (start, end int, err error) {
	for r.pos < len(r.data) {
		start = r.pos
		n, err := r.format.next(r.data[start:])
		r.pos += n
		if err != nil {
			return start, r.pos, err
		}
		if line := trimEnd(r.data[start:r.pos]); !r.format.blank(line) {
			if r.recoded { // and in its charset; otherwise any bytes are accepted
				if err := r.text(line); err != nil {
					return start, r.pos, err
				}
			}
			enc.Bytes(line)
			return start, r.pos, nil
		}
	}
	return r.pos, r.pos, io.EOF
}

// blockSize is how much of an input of lines is parsed at a time: enough to make the cost of
// passing blocks between goroutines small. It never depends on the number of workers.
const blockSize = 1 << 20

// blockReader cuts an input of lines into blocks.
type blockReader struct {
	r      io.Reader
	format lineFormat
	limit  int    // maximum size of a record
	size   int    // size of a block
	begun  bool   // whether a block has been returned
	rest   []byte // remainder of the last block
	err    error  // error of r; io.EOF at the end
}

// next returns the next block in buf, which it may replace by a larger one. After the last it
// returns io.EOF.
func (b *blockReader) next(buf []byte) ([]byte, error) {
	buf = append(buf[:0], b.rest...)
	for size := b.size; ; size = min(2*size, max(b.limit+1, b.size)) {
		buf = b.fill(buf, size)
		if b.err != nil && !errors.Is(b.err, io.EOF) {
			return nil, b.err
		}
		if b.err != nil && len(buf) == 0 {
			return nil, io.EOF
		}
		if cut := b.cut(buf); cut > 0 {
			b.rest, b.begun = append(b.rest[:0], buf[cut:]...), true
			return buf[:cut], nil
		}
		if len(buf) > b.limit {
			return nil, faultf(ErrLimit, "no end of the record within the limit of %d bytes", b.limit)
		}
	}
}

// cut returns the length of the block at the start of p; 0 if p must be longer.
func (b *blockReader) cut(p []byte) int {
	switch {
	case b.err != nil:
		return len(p)
	case !b.begun:
		return b.format.head(p)
	}
	return b.format.cut(p)
}

// fill reads until buf holds size bytes or the input ends.
func (b *blockReader) fill(buf []byte, size int) []byte {
	if cap(buf) < size {
		buf = append(make([]byte, 0, size), buf...)
	}
	if b.err != nil || len(buf) >= size {
		return buf
	}
	for empty := 0; b.err == nil && len(buf) < size; {
		n, err := b.r.Read(buf[len(buf):size])
		buf, b.err = buf[:len(buf)+n], err
		if empty++; n > 0 {
			empty = 0
		} else if err == nil && empty == maxEmptyReads {
			b.err = io.ErrNoProgress
		}
	}
	return buf
}

// maxEmptyReads is the limit of consecutive reads that return neither bytes nor an error.
const maxEmptyReads = 100
