package recordio

import (
	"errors"
	"fmt"
	"strings"
)

// Kind classifies an error. A Kind is itself an error, so that errors.Is(err, recordio.Checksum)
// works on any error of this package.
type Kind uint8

// The kinds of errors.
const (
	IO          Kind = iota // the reader or writer below failed; its error is the cause
	Truncated               // the file ends in the middle of a chunk
	Checksum                // bytes do not match their checksum
	Malformed               // a header or a length is impossible
	Limit                   // larger than the options or the format allows
	Unsupported             // an unknown compressor
	Stale                   // the index belongs to another file, or to an earlier state of this file
	OutOfRange              // no record has this number
	Closed                  // used after Close
	Invalid                 // options are contradictory or out of range
)

var kindTexts = [...]string{
	IO:          "input or output failed",
	Truncated:   "ends in the middle of a chunk",
	Checksum:    "checksum does not match",
	Malformed:   "malformed",
	Limit:       "limit exceeded",
	Unsupported: "not supported",
	Stale:       "index does not match the file",
	OutOfRange:  "no such record",
	Closed:      "already closed",
	Invalid:     "invalid argument",
}

// Error returns a description of k.
func (k Kind) Error() string {
	if int(k) >= len(kindTexts) {
		return "failed"
	}
	return kindTexts[k]
}

// damage reports whether k means that the bytes are not those that were written. Policies other
// than Fail continue after such errors.
func (k Kind) damage() bool {
	switch k {
	case Truncated, Checksum, Malformed, Limit, Unsupported:
		return true
	}
	return false
}

// Error is the error type of this package. Chunk and Record count from 0 and are -1 if unknown or
// not applicable.
type Error struct {
	Path   string // as given in the options; may be empty
	Offset int64  // of the header of the chunk, in bytes from the start of the file
	Chunk  int64  // number of the chunk in the file
	Record int64  // number of the record in the file
	Kind   Kind
	Err    error // the cause, with details; may be nil
}

// Error reads "path: chunk 3 at byte 4096: kind: cause".
func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	if e.Record >= 0 {
		fmt.Fprintf(&b, "record %d: ", e.Record)
	}
	if e.Chunk >= 0 {
		fmt.Fprintf(&b, "chunk %d at byte %d: ", e.Chunk, e.Offset)
	}
	b.WriteString(e.Kind.Error())
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Is reports whether target is e's Kind.
func (e *Error) Is(target error) bool { return target == e.Kind }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// plain returns an Error without a chunk or record.
func plain(path string, kind Kind, cause error) *Error {
	return &Error{Path: path, Chunk: -1, Record: -1, Kind: kind, Err: cause}
}

// fault returns an Error whose position the caller sets with at.
func fault(kind Kind, format string, args ...any) *Error {
	return plain("", kind, fmt.Errorf(format, args...))
}

// at sets the position of e.
func (e *Error) at(path string, offset, chunk int64) *Error {
	e.Path, e.Offset, e.Chunk = path, offset, chunk
	return e
}

// edited returns a copy of an error of this package that edit has changed; other errors stay.
func edited(err error, edit func(*Error)) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	named := *e
	edit(&named)
	return &named
}

// withPath sets the path of an error of this package.
func withPath(err error, path string) error {
	if path == "" {
		return err
	}
	return edited(err, func(e *Error) { e.Path = path })
}
