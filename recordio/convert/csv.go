package convert

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// CSVOptions configure the reading of text tables. The zero value reads a file with a header and
// infers the types of its columns.
type CSVOptions struct {
	// Comma separates the columns: an ASCII character other than a quote; 0 is ',' for the format
	// csv and a tab for tsv. ' ' is any run of blanks, as in many tables of UCI; such tables have
	// no quotes.
	Comma byte
	// NoHeader means that the first line is a record. Columns then have the names of Columns;
	// without those, records are arrays.
	NoHeader bool
	Columns  []string
	// Types sets column types, by name, or by number from 1 for columns without a name. Other types
	// are inferred from the first block of the first input; a value that does not fit an inferred
	// type is a bad record.
	Types map[string]Type
	// Text makes all columns that Types does not name String, instead of inferring their types.
	Text bool
	// Null is a text that means a missing value, such as "NA" or "?". The empty text also means a
	// missing value, except in text columns.
	Null string
	// Labels names columns, like the keys of Types, and makes the record [features, labels]: an
	// array of all other values, and an array of these. This is the form of sample that
	// PaddlePaddle's readers yield.
	Labels []string
}

var csvFormat = Format{
	Name:       "csv",
	Doc:        "comma-separated values, RFC 4180: a map of the columns of each row",
	Extensions: []string{".csv"},
	lines:      func(o Options) lineFormat { return newTable(o, ',') },
}

var tsvFormat = Format{
	Name:       "tsv",
	Doc:        "tab-separated values, quoted as in csv: a map of the columns of each row",
	Extensions: []string{".tsv", ".tab"},
	lines:      func(o Options) lineFormat { return newTable(o, '\t') },
}

// table reads text tables: it finds the ends of records, and the columns, which the first input
// with rows determines for all inputs.
type table struct {
	opts    CSVOptions
	comma   byte
	raw     bool // lines are records without parsing
	quotes  quoting
	checked checked
	header  []string // of the first input; nil if it has none
	columns []column // nil before the first row
	layout  layout
}

func newTable(o Options, comma byte) *table {
	if o.CSV.Comma != 0 {
		comma = o.CSV.Comma
	}
	return &table{opts: o.CSV, comma: comma, raw: o.Encoding == rawName, checked: newChecked(o), quotes: quoting{comma: comma, limit: o.Limits.withDefaults().Record}}
}

// next implements lineFormat. A record ends at the first newline outside of quotes. Quotes begin
// only at the start of a field, so text such as 5" inside of a field cannot swallow the following
// lines. A malformed record ends with its first line, since the meaning of its quotes is unknown.
func (t *table) next(p []byte) (n int, err error) {
	fieldStart := true
	for i := 0; i < len(p); {
		switch c := p[i]; {
		case c == '\n':
			return i + 1, nil
		case c == '"' && fieldStart && t.comma != ' ':
			n, _, err := t.quotes.cell(p[i:])
			if err != nil {
				return firstLine(p), unclosed(err)
			}
			i += n
			fieldStart = false
		default:
			fieldStart = c == t.comma
			i++
		}
	}
	return len(p), nil
}

// unclosed converts a quote that is open at the end of the input into a fault.
func unclosed(err error) error {
	if err == errOpen {
		return faultf(ErrSyntax, "a quote is opened and not closed")
	}
	return err
}

// blank implements lineFormat.
func (t *table) blank(line []byte) bool {
	if t.comma == ' ' {
		line = bytes.Trim(line, " \t")
	}
	return len(line) == 0
}

// cut implements lineFormat. Without quotes it returns the last newline; with quotes it walks
// through the records from quote to quote.
func (t *table) cut(p []byte) int {
	if t.comma == ' ' || bytes.IndexByte(p, '"') < 0 {
		return bytes.LastIndexByte(p, '\n') + 1
	}
	return t.cutQuoted(p)
}

// head implements lineFormat. The columns follow from the header and the first row, so head
// includes a first row that is longer than a block.
func (t *table) head(p []byte) int {
	n := t.cut(p)
	f := t.fields()
	f.block(p[:n])
	rows := 1
	if !t.opts.NoHeader {
		rows++
	}
	for ; rows > 0; rows-- {
		if _, _, _, err := f.row(); err == io.EOF {
			return 0
		}
	}
	return n
}

// cutQuoted returns the end of the last record in p whose end is certain.
func (t *table) cutQuoted(p []byte) int {
	end, i := 0, 0 // end of the last record; i is outside of quotes
	for {
		quote := bytes.IndexByte(p[i:], '"')
		if quote < 0 {
			quote = len(p) - i
		}
		if n := lastNewline(p[i : i+quote]); n >= 0 {
			end = i + n + 1
		}
		if i += quote; i == len(p) {
			return end
		}
		if i > 0 && p[i-1] != '\n' && p[i-1] != t.comma {
			i++ // a quote inside of a field is an error, not quoting
			continue
		}
		n, _, err := t.quotes.cell(p[i:])
		switch {
		case err == nil:
			i += n
		case err == errOpen || bytes.IndexByte(p[end:], '\n') < 0:
			return end
		default:
			end += firstLine(p[end:])
			i = end
		}
	}
}

// lastNewline is bytes.LastIndexByte for newlines, eight bytes at a time.
func lastNewline(p []byte) int {
	for len(p) >= 8 {
		if found := matching(binary.LittleEndian.Uint64(p[len(p)-8:]), ones*'\n'); found != 0 {
			return len(p) - 1 - bits.LeadingZeros64(found)/8
		}
		p = p[:len(p)-8]
	}
	return bytes.LastIndexByte(p, '\n')
}

// begin implements lineFormat.
func (t *table) begin(head []byte) (skip int, err error) {
	if t.comma >= utf8.RuneSelf || bytes.IndexByte([]byte("\"\r\n\x00"), t.comma) >= 0 {
		return 0, faultf(ErrUnsupported, "%q cannot separate columns: any ASCII character but a quote and the ends of lines can", t.comma)
	}
	if endsWithCR(head) {
		return 0, faultf(ErrSyntax, "its lines end with CR alone, which is no end of a line: tr '\\r' '\\n' makes it one")
	}
	if other := t.otherComma(head); other != 0 {
		return 0, faultf(ErrDelimiter, "its columns are separated by %q, not by %q: name the delimiter", other, t.comma)
	}
	var names []string
	if !t.opts.NoHeader {
		if names, skip, err = t.readHeader(head); err != nil || skip == 0 {
			return skip, err
		}
	}
	if t.columns == nil && t.header == nil {
		t.header = names
	}
	if !slices.Equal(names, t.header) {
		return skip, faultf(ErrSyntax, "its columns are %s, those of the first input %s", someOf(names), someOf(t.header))
	}
	if rows := head[skip:]; t.columns == nil && len(bytes.TrimSpace(rows)) > 0 {
		return skip, t.describe(rows)
	}
	return skip, nil
}

// endsWithCR reports whether the lines of head end in CR, as on old Macs: the whole input would
// pass for a header.
func endsWithCR(head []byte) bool {
	cr := bytes.IndexByte(head, '\r')
	return cr >= 0 && cr < len(head)-1 && bytes.IndexByte(head, '\n') < 0
}

// otherComma returns the likely separator of an input. It applies only if no delimiter was named,
// the first lines lack the one of the format, and all contain another one equally often; else it
// returns 0.
func (t *table) otherComma(head []byte) byte {
	if t.opts.Comma != 0 || t.raw {
		return 0
	}
	lines := headLines(head[:min(len(head), SniffLen)])
	if len(lines) == 0 || bytes.IndexByte(lines[0], t.comma) >= 0 {
		return 0
	}
	for _, comma := range []byte(";\t|,") {
		n := separators(lines[0], comma)
		if n > 0 && !slices.ContainsFunc(lines, func(line []byte) bool { return separators(line, comma) != n }) {
			return comma
		}
	}
	return 0
}

// readHeader reads the first non-empty record as names.
func (t *table) readHeader(head []byte) (names []string, n int, err error) {
	f := t.fields()
	f.block(head)
	row, _, n, err := f.row()
	if err == io.EOF {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("the header: %w", err)
	}
	for i, name := range row {
		if err := t.checked.text(name); err != nil {
			return nil, 0, fmt.Errorf("the header: column %d is %w", i+1, err)
		}
		names = append(names, string(name))
	}
	return names, n, unlike(ErrHeader, "the header has", names)
}

// unlike returns an error of a kind if two columns of what have the same name: readers of a record take
// one of their values.
func unlike(kind error, what string, names []string) error {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return faultf(kind, "%s two columns %s", what, clip([]byte(name)))
		}
		seen[name] = true
	}
	return nil
}
