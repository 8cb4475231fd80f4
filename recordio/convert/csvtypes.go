package convert

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Type is the type of a text column.
type Type uint8

// The types of columns.
const (
	TypeText    Type = iota + 1 // UTF-8 text; empty is empty text
	TypeBytes                   // any bytes
	TypeInt                     // 64 bits; empty is missing, also for the types below
	TypeFloat                   // the nearest float64; also nan, inf, -inf
	TypeFloat32                 // the nearest float32
	TypeBool                    // true and false, in lower, upper or title case, 1 and 0
	TypeSkip                    // left out
)

var typeNames = [...]string{TypeText: "text", TypeBytes: "bytes", TypeInt: "int", TypeFloat: "float",
	TypeFloat32: "float32", TypeBool: "bool", TypeSkip: "skip"}

// ParseType returns the type with the given name: text, bytes, int, float, float32, bool, skip.
func ParseType(name string) (Type, error) {
	if i := slices.Index(typeNames[1:], name); i >= 0 {
		return Type(i + 1), nil
	}
	return 0, unknown("type", name, typeNames[1:])
}

func (t Type) String() string {
	if t == 0 || int(t) >= len(typeNames) {
		return "unknown"
	}
	return typeNames[t]
}

// column is one column of a table.
type column struct {
	name     string // "" if it has none
	typ      Type
	inferred bool
	null     string
}

// missing reports whether text means a missing value.
func (c *column) missing(text []byte) bool {
	if len(text) == 0 {
		return c.typ != TypeText && c.typ != TypeBytes
	}
	return c.null != "" && string(text) == c.null
}

// title returns the name of column i in messages.
func (c *column) title(i int) string {
	if c.name == "" {
		return strconv.Itoa(i + 1)
	}
	return fmt.Sprintf("%d (%s)", i+1, clip([]byte(c.name)))
}

// longestName is the maximum length of a column name in a suggestion of --type; longer ones are
// shown as a number.
const longestName = 40

// misfit returns the error for text that is not of the type of column i.
func (c *column) misfit(i int, text []byte) error {
	if !c.inferred {
		return faultf(ErrSyntax, "column %s: %s is not of type %s", c.title(i), clip(text), c.typ)
	}
	name := c.name
	if name == "" || len(name) > longestName {
		name = strconv.Itoa(i + 1)
	}
	fits := typeOf(text)
	if c.typ != TypeInt || fits != TypeFloat {
		fits = TypeText
	}
	return faultf(ErrSyntax, "column %s: %s is not of type %s, unlike the first %d rows; --type %s=%s accepts it",
		c.title(i), clip(text), c.typ, sampleRows, name, fits)
}

// layout tells which columns form the record, and how.
type layout struct {
	named   bool // a map; otherwise an array
	columns []int
	labels  []int // if any, the record is [columns, labels]
}

// sample returns the cells of the rows of head that types are inferred from.
func (t *table) sample(head []byte) [][][]byte {
	f := t.fields()
	f.block(head)
	var rows [][][]byte
	for {
		cells, _, _, err := f.row()
		if err == io.EOF || len(rows) == sampleRows {
			return rows
		}
		if err != nil {
			continue
		}
		row := make([][]byte, len(cells))
		for i, cell := range cells {
			row[i] = bytes.Clone(cell)
		}
		rows = append(rows, row)
	}
}

// sampleRows is the number of rows that types are inferred from.
const sampleRows = 1000

// describe determines columns and layout from the first rows.
func (t *table) describe(head []byte) error {
	rows := t.sample(head)
	names := t.header
	if names == nil {
		names = t.opts.Columns
	}
	n := len(names)
	if n == 0 && len(rows) > 0 {
		n = len(rows[0])
	}
	columns := make([]column, n)
	for i := range columns {
		if names != nil {
			columns[i].name = names[i]
		}
		columns[i].null = t.opts.Null
	}
	if err := t.declare(columns); err != nil {
		return err
	}
	for i := range columns {
		if c := &columns[i]; c.typ == 0 {
			c.typ, c.inferred = TypeText, false
			if !t.opts.Text {
				c.infer(i, n, rows)
			}
		}
	}
	return t.lay(columns, names != nil)
}

// declare sets the column types given by the options.
func (t *table) declare(columns []column) error {
	for _, key := range slices.Sorted(maps.Keys(t.opts.Types)) {
		i, err := find(columns, key)
		if err != nil {
			return err
		}
		if columns[i].typ != 0 {
			return faultf(ErrUnsupported, "the types name column %s twice", columns[i].title(i))
		}
		columns[i].typ = t.opts.Types[key]
	}
	return nil
}

// find returns the index of the column with a name, or with a number from 1.
func find(columns []column, key string) (int, error) {
	if i := slices.IndexFunc(columns, func(c column) bool { return c.name == key && key != "" }); i >= 0 {
		return i, nil
	}
	if i, err := strconv.Atoi(key); err == nil && 1 <= i && i <= len(columns) {
		return i - 1, nil
	}
	names := make([]string, len(columns))
	for i := range columns {
		names[i] = columns[i].title(i)
	}
	return 0, unknown("column", key, names)
}

// lay determines the form of a record.
func (t *table) lay(columns []column, named bool) error {
	l := layout{named: named}
	for _, key := range t.opts.Labels {
		i, err := find(columns, key)
		if err != nil {
			return err
		}
		switch {
		case slices.Contains(l.labels, i):
			return faultf(ErrUnsupported, "the labels name column %s twice", columns[i].title(i))
		case columns[i].typ == TypeSkip:
			return faultf(ErrUnsupported, "column %s is a label, and has the type skip", columns[i].title(i))
		}
		l.labels = append(l.labels, i)
	}
	for i := range columns {
		if columns[i].typ != TypeSkip && !slices.Contains(l.labels, i) {
			l.columns = append(l.columns, i)
		}
	}
	t.columns, t.layout = columns, l
	return nil
}

// infer finds the narrowest type that holds column i in all rows of n cells.
func (c *column) infer(i, n int, rows [][][]byte) {
	var typ Type
	for _, row := range rows {
		if len(row) != n || len(row[i]) == 0 || c.null != "" && string(row[i]) == c.null {
			continue
		}
		typ = widen(typ, typeOf(row[i]))
		if typ == TypeText {
			return
		}
	}
	if typ != 0 {
		c.typ, c.inferred = typ, true
	}
}

// widen returns a type that holds both; 0 is the type without values.
func widen(a, b Type) Type {
	switch {
	case a == 0 || a == b:
		return b
	case a == TypeInt && b == TypeFloat, a == TypeFloat && b == TypeInt:
		return TypeFloat
	}
	return TypeText
}

// typeOf returns the narrowest type for text; nan and inf are floats. Digits after a leading zero
// are text, as in postal codes, and so is an integer that does not fit.
func typeOf(text []byte) Type {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) > 1 && digits[0] == '0' && digits[1] != '.' && digits[1] != 'e' && digits[1] != 'E' {
		return TypeText
	}
	if _, ok := parseInt(text); ok {
		return TypeInt
	}
	if _, ok := parseFloat(text); ok && bytes.ContainsAny(text, ".eE") || isSpecial(text) {
		return TypeFloat
	}
	switch string(text) {
	case "true", "false", "True", "False", "TRUE", "FALSE":
		return TypeBool
	}
	return TypeText
}

// isSpecial reports whether text is a float without digits.
func isSpecial(text []byte) bool {
	_, ok := parseSpecial(text)
	return ok
}

// parseInt reads a decimal integer of 64 bits with an optional sign.
func parseInt(text []byte) (int64, bool) {
	negative := false
	if len(text) > 1 && (text[0] == '-' || text[0] == '+') {
		negative, text = text[0] == '-', text[1:]
	}
	if len(text) == 0 || len(text) > 19 {
		return 0, false
	}
	v, ok := eightDigits(text)
	if !ok {
		for _, c := range text {
			d := uint64(c - '0')
			if d > 9 {
				return 0, false
			}
			v = v*10 + d
		}
	}
	if negative {
		return -int64(v), v <= 1<<63
	}
	return int64(v), v <= math.MaxInt64
}

// parseAnyFloat is parseFloat plus nan and inf.
func parseAnyFloat(text []byte) (float64, bool) {
	if v, ok := parseFloat(text); ok {
		return v, true
	}
	return parseSpecial(text)
}

// parseSpecial reads nan and inf.
func parseSpecial(text []byte) (float64, bool) {
	if len(text) > len("-infinity") {
		return 0, false
	}
	switch strings.ToLower(string(text)) {
	case "nan", "-nan":
		return math.NaN(), true
	case "inf", "+inf", "infinity", "+infinity":
		return math.Inf(1), true
	case "-inf", "-infinity":
		return math.Inf(-1), true
	}
	return 0, false
}

func parseBool(text []byte) (v, ok bool) {
	switch string(text) {
	case "true", "True", "TRUE", "1":
		return true, true
	case "false", "False", "FALSE", "0":
		return false, true
	}
	return false, false
}

// summary returns the columns.
func (t *table) summary() []Column {
	columns := make([]Column, len(t.columns))
	for i, c := range t.columns {
		columns[i] = Column{Name: c.name, Type: c.typ.String(), Label: 1 + slices.Index(t.layout.labels, i)}
	}
	return columns
}
