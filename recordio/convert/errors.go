package convert

import (
	"errors"
	"fmt"
	"strings"
)

// What is wrong with an input; for errors.Is.
var (
	// ErrSyntax: the content is not what its format says.
	ErrSyntax = errors.New("malformed")
	// ErrLine: a line ends in the middle of a value, which is ErrSyntax.
	ErrLine = fmt.Errorf("a value over several lines: %w", ErrSyntax)
	// ErrHeader: the header of a table cannot name its columns, which is ErrSyntax.
	ErrHeader = fmt.Errorf("no header: %w", ErrSyntax)
	// ErrTooMany: more records are bad than may be left out.
	ErrTooMany = errors.New("too many bad records")
	// ErrTruncated: the input ends in the middle of something.
	ErrTruncated = errors.New("truncated")
	// ErrChecksum: the content does not match its own checksum.
	ErrChecksum = errors.New("checksum mismatch")
	// ErrDamaged: a binary format contradicts itself, as after a flipped bit. It is an
	// ErrSyntax.
	ErrDamaged = fmt.Errorf("damaged: %w", ErrSyntax)
	// ErrLimit: a record is larger or deeper than Limits allow, or a number does not fit.
	ErrLimit = errors.New("over the limit")
	// ErrUnlabelled: an image has no label, and Options.Labelled asks for one.
	ErrUnlabelled = errors.New("no label")
	// ErrUnsupported: the content is well formed, but has no place in a record.
	ErrUnsupported = errors.New("unsupported")
	// ErrManyPieces: a sample has no single piece of bytes or text, which the encoding raw takes; ErrUnsupported.
	ErrManyPieces = fmt.Errorf("no single piece: %w", ErrUnsupported)

	// More closely, what has to be named to read an input; all are ErrUnsupported.

	// ErrFormat: the format cannot be found, or is not that of the inputs before.
	ErrFormat = fmt.Errorf("no format: %w", ErrUnsupported)
	// ErrCharset: the text is not of the encoding that is named, or of UTF-8.
	ErrCharset = fmt.Errorf("no encoding of text: %w", ErrUnsupported)
	// ErrDelimiter: a table has its columns separated by another character.
	ErrDelimiter = fmt.Errorf("no delimiter: %w", ErrUnsupported)
)

// RecordError is one bad record of an input, which the policy may skip.
type RecordError struct {
	// Input is the name of the source; Run fills it in.
	Input string
	// Line is the first line of the record, from 1; 0 where a format has no lines.
	Line int64
	// Row is the number of the record in its input, from 1; 0 where only Line is known.
	Row int64
	// Offset is where in the (decompressed) input the record begins, in bytes; negative
	// if it is not known.
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

// fault is a reason of one of the kinds above, in words.
type fault struct {
	kind error
	text string
}

func (f *fault) Error() string { return f.text }
func (f *fault) Unwrap() error { return f.kind }

// faultf returns an error that is kind to errors.Is and reads as the text.
func faultf(kind error, format string, args ...any) error {
	return &fault{kind: kind, text: fmt.Sprintf(format, args...)}
}

// clip quotes text for a message, but not all of a long one.
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

// someOf lists names for a message, but not all of many: a table may have a million
// columns, and a name of one as many bytes.
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
