package convert

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
)

// fields splits the rows of a block into cells. The cells of a row are valid until the next row.
type fields struct {
	comma  byte
	quotes quoting
	data   []byte
	pos    int
	cells  [][]byte
	plain  []byte // the unquoted text of cells with quotes inside
}

func (t *table) fields() fields { return fields{comma: t.comma, quotes: t.quotes} }

func (f *fields) block(p []byte) { f.data, f.pos = p, 0 }

// row returns the cells and the position of the next non-empty row. After an error it continues
// after the first line of the row, like table.next.
func (f *fields) row() (cells [][]byte, start, end int, err error) {
	for f.pos < len(f.data) {
		start = f.pos
		f.cells, f.plain = f.cells[:0], f.plain[:0]
		if f.comma == ' ' {
			f.blanks()
		} else {
			err = f.split()
		}
		if err != nil {
			f.pos = start + firstLine(f.data[start:])
			return nil, start, f.pos, err
		}
		if len(f.cells) > 0 {
			return f.cells, start, f.pos, nil
		}
	}
	return nil, f.pos, f.pos, io.EOF
}

// blanks splits a line at runs of blanks.
func (f *fields) blanks() {
	c := lineCursor{data: f.data, pos: f.pos}
	line, _, end, _ := c.line()
	f.pos = end
	for {
		var word []byte
		if word, line = cutBlank(line); len(word) == 0 {
			return
		}
		f.cells = append(f.cells, word)
	}
}

// split splits the row at pos. An empty line has no cells. Cells are too short for one search each
// and too many for one character at a time, so split examines eight characters and takes all cells
// that end there.
func (f *fields) split() error {
	data, commas := f.data, ones*uint64(f.comma)
	start, seen := f.pos, f.pos // start of the cell; end of the examined characters
	var ends uint64             // one bit for each comma or newline among the eight characters before seen
	for {
		if start < len(data) && data[start] == '"' {
			next, last, err := f.quoted(start)
			if err != nil || last {
				f.pos = next
				return err
			}
			start, seen, ends = next, next, 0
			continue
		}
		for ends == 0 && seen+8 <= len(data) {
			word := binary.LittleEndian.Uint64(data[seen:])
			ends = matching(word, commas) | matching(word, ones*'\n')
			seen += 8
		}
		end := seen
		if ends != 0 {
			end += bits.TrailingZeros64(ends)/8 - 8
			ends &= ends - 1
		} else {
			for end < len(data) && data[end] != f.comma && data[end] != '\n' {
				end++
			}
			seen = min(end+1, len(data))
		}
		if end == len(data) || data[end] != f.comma {
			f.lastCell(start, end)
			return nil
		}
		f.cells = append(f.cells, data[start:end])
		start = end + 1
	}
}

// lastCell adds the last cell of a row.
func (f *fields) lastCell(start, end int) {
	f.pos = min(end+1, len(f.data))
	cell := f.data[start:end]
	if n := len(cell); n > 0 && cell[n-1] == '\r' {
		cell = cell[:n-1]
	}
	if len(f.cells) > 0 || len(cell) > 0 {
		f.cells = append(f.cells, cell)
	}
}

// quoted adds the quoted cell at i. It returns the start of the next cell, or of the next row if
// this cell is the last of its row.
func (f *fields) quoted(i int) (next int, last bool, err error) {
	n, inside, err := f.quotes.cell(f.data[i:])
	if err != nil {
		return 0, false, fmt.Errorf("column %d: %w", len(f.cells)+1, unclosed(err))
	}
	text := f.data[i+1 : i+n-1]
	if inside {
		text = f.unquote(text)
	}
	f.cells = append(f.cells, text)
	i += n
	if i < len(f.data) && f.data[i] == f.comma {
		return i + 1, false, nil
	}
	if i < len(f.data) && f.data[i] == '\n' {
		return i + 1, true, nil
	}
	return i + firstLine(f.data[i:]), true, nil
}

// unquote returns text with doubled quotes replaced by single ones.
func (f *fields) unquote(text []byte) []byte {
	start := len(f.plain)
	for {
		i := bytes.IndexByte(text, '"')
		if i < 0 {
			break
		}
		f.plain = append(f.plain, text[:i+1]...)
		text = text[i+2:]
	}
	f.plain = append(f.plain, text...)
	return f.plain[start:]
}

// tableParser parses the rows of one block.
type tableParser struct {
	fields
	checked
	columns []column
	layout  layout
}

func (t *table) parser() lineParser {
	return &tableParser{fields: t.fields(), checked: t.checked, columns: t.columns, layout: t.layout}
}

func (p *tableParser) block(data []byte) {
	p.fields.block(data)
	p.check(data)
}

func (p *tableParser) parse(enc Encoder) (start, end int, err error) {
	cells, start, end, err := p.row()
	if err != nil {
		return start, end, err
	}
	if len(cells) != len(p.columns) {
		return start, end, faultf(ErrSyntax, "%s instead of %d", columnCount(len(cells)), len(p.columns))
	}
	return start, end, p.record(cells, enc)
}

func columnCount(n int) string {
	if n == 1 {
		return "1 column"
	}
	return fmt.Sprintf("%d columns", n)
}

// record encodes a row with enc.
func (p *tableParser) record(cells [][]byte, enc Encoder) error {
	if p.layout.labels != nil {
		enc.Array(2)
		if err := p.array(p.layout.columns, cells, enc); err != nil {
			return err
		}
		return p.endWith(p.array(p.layout.labels, cells, enc), enc)
	}
	if !p.layout.named {
		return p.array(p.layout.columns, cells, enc)
	}
	columns := p.columns
	enc.Map(len(p.layout.columns))
	for _, i := range p.layout.columns {
		enc.Key(columns[i].name)
		if err := p.cell(i, cells[i], enc); err != nil {
			return err
		}
	}
	enc.End()
	return nil
}

func (p *tableParser) array(which []int, cells [][]byte, enc Encoder) error {
	enc.Array(len(which))
	for _, i := range which {
		if err := p.cell(i, cells[i], enc); err != nil {
			return err
		}
	}
	enc.End()
	return nil
}

func (p *tableParser) endWith(err error, enc Encoder) error {
	if err == nil {
		enc.End()
	}
	return err
}

// cell encodes the value of column i.
func (p *tableParser) cell(i int, text []byte, enc Encoder) error {
	c := &p.columns[i]
	if c.missing(text) {
		enc.Nil()
		return nil
	}
	switch c.typ {
	case TypeInt:
		if v, ok := parseInt(text); ok {
			enc.Int(v)
			return nil
		}
	case TypeFloat:
		if v, ok := parseAnyFloat(text); ok {
			enc.Float64(v)
			return nil
		}
	case TypeFloat32:
		if v, ok := parseAnyFloat(text); ok {
			enc.Float32(float32(v))
			return nil
		}
	case TypeBool:
		if v, ok := parseBool(text); ok {
			enc.Bool(v)
			return nil
		}
	case TypeBytes:
		enc.Bytes(text)
		return nil
	default:
		if err := p.text(text); err != nil {
			return fmt.Errorf("column %s is %w, and the type bytes", c.title(i), err)
		}
		enc.String(text)
		return nil
	}
	return c.misfit(i, text)
}
