package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Kinds of errors, for errors.Is.
var (
	// ErrSyntax: the content violates its format.
	ErrSyntax = errors.New("malformed")
	// ErrLine: a line ends in the middle of a value. It is an ErrSyntax.
	ErrLine = fmt.Errorf("a value over several lines: %w", ErrSyntax)
	// ErrNaN: JSON with NaN or Infinity, which Python writes. It is an ErrSyntax.
	ErrNaN = fmt.Errorf("a number that JSON lacks: %w", ErrSyntax)
	// ErrHeader: the header of a table cannot name its columns. It is an ErrSyntax.
	ErrHeader = fmt.Errorf("no header: %w", ErrSyntax)
	// ErrTooMany: more records are bad than the policy allows.
	ErrTooMany = errors.New("too many bad records")
	// ErrTruncated: the input ends in the middle of something.
	ErrTruncated = errors.New("truncated")
	// ErrChecksum: the content does not match its own checksum.
	ErrChecksum = errors.New("checksum mismatch")
	// ErrDamaged: a binary format contradicts itself, as after a flipped bit. It is an ErrSyntax.
	ErrDamaged = fmt.Errorf("damaged: %w", ErrSyntax)
	// ErrLimit: a record is larger or deeper than Limits allow, or a number does not fit.
	ErrLimit = errors.New("over the limit")
	// ErrUnlabelled: an image has no label, and Options.Labelled asks for one.
	ErrUnlabelled = errors.New("no label")
	// ErrUnsupported: the content is well-formed but cannot be represented in a record.
	ErrUnsupported = errors.New("unsupported")
	// ErrManyPieces: a sample has more than one value, or none, for the encoding raw. It is an
	// ErrUnsupported.
	ErrManyPieces = fmt.Errorf("no single piece: %w", ErrUnsupported)

	// Errors about what the user must name to read an input; all are ErrUnsupported.

	// ErrFormat: the format cannot be detected, or differs from that of earlier inputs.
	ErrFormat = fmt.Errorf("no format: %w", ErrUnsupported)
	// ErrCharset: the text is not in the named encoding, or in UTF-8.
	ErrCharset = fmt.Errorf("no encoding of text: %w", ErrUnsupported)
	// ErrDelimiter: the columns of a table are separated by another character.
	ErrDelimiter = fmt.Errorf("no delimiter: %w", ErrUnsupported)
)

// RecordError is a bad record, which the policy may skip.
type RecordError struct {
	// Input is the name of the source; Run fills it in.
	Input string
	// Line is the first line of the record, from 1; 0 for formats without lines.
	Line int64
	// Row is the number of the record in its input, from 1; 0 if only Line is known.
	Row int64
	// Offset is the start of the record in the (decompressed) input, in bytes; negative if unknown.
	Offset int64
	// Err is the reason.
	Err error
}

func (e *RecordError) Error() string {
	var b strings.Builder
	b.WriteString(e.Input)
	if e.Line > 0 {
		fmt.Fprintf(&b, ", line %d", e.Line)
	}
	if e.Row > 0 {
		fmt.Fprintf(&b, ", record %d", e.Row)
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&b, ", offset %d", e.Offset)
	}
	return strings.TrimPrefix(b.String(), ", ") + ": " + e.Err.Error()
}

func (e *RecordError) Unwrap() error { return e.Err }

// BadRecord is a RecordError as JSON.
type BadRecord struct {
	Input  string `json:"input"`
	Line   int64  `json:"line,omitempty"`
	Row    int64  `json:"row,omitempty"`
	Offset *int64 `json:"offset,omitempty"`
	Error  string `json:"error"`
	Record string `json:"record,omitempty"` // for formats of lines; bytes that are not UTF-8 are replaced
}

// Describe returns e and the bytes of the record, which may be nil.
func (e *RecordError) Describe(record []byte) BadRecord {
	b := BadRecord{Input: e.Input, Line: e.Line, Row: e.Row, Error: e.Err.Error(), Record: string(record)}
	if e.Offset >= 0 {
		b.Offset = &e.Offset
	}
	return b
}

// MarshalJSON returns a BadRecord.
func (e *RecordError) MarshalJSON() ([]byte, error) { return json.Marshal(e.Describe(nil)) }

// UnmarshalJSON reads a BadRecord. Of its error only the text is left.
func (e *RecordError) UnmarshalJSON(text []byte) error {
	var b BadRecord
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	*e = RecordError{Input: b.Input, Line: b.Line, Row: b.Row, Offset: -1, Err: errors.New(b.Error)}
	if b.Offset != nil {
		e.Offset = *b.Offset
	}
	return nil
}

// fault is an error of one of the kinds above with its own text.
type fault struct {
	kind error
	text string
}

func (f *fault) Error() string { return f.text }
func (f *fault) Unwrap() error { return f.kind }

// faultf returns an error of the given kind with a formatted text.
func faultf(kind error, format string, args ...any) error {
	return &fault{kind: kind, text: fmt.Sprintf(format, args...)}
}

// clip quotes text for a message and shortens a long one.
func clip(text []byte) string {
	const most = 40
	if len(text) <= most {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q...", text[:most])
}

// unknown is the error for a name that is not in a list.
func unknown(what, name string, known []string) error {
	return faultf(ErrUnsupported, "%s %q: there are %s", what, name, someOf(known))
}

// someOf lists names for a message. It shortens the list: a table may have a million columns, and a
// name may have as many bytes.
func someOf(names []string) string {
	const most, longest = 500, 100
	var b strings.Builder
	for i, name := range names {
		if b.Len() > most {
			return b.String() + fmt.Sprintf(", and %d more", len(names)-i)
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if len(name) > longest {
			name = name[:longest] + "..."
		}
		b.WriteString(name)
	}
	return b.String()
}
