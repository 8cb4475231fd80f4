package datafile

import (
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// dataError is an error about the content of a file, with the Kind that gives it its
// exit code.
type dataError struct {
	err  error
	kind pfs.Kind
}

// DataError gives err, which is about the content of a file, a Kind.
func DataError(err error, kind pfs.Kind) error { return dataError{err, kind} }

func (e dataError) Error() string   { return e.err.Error() }
func (e dataError) Unwrap() []error { return []error{e.err, e.kind} }

// recordKinds has the Kind of what package recordio finds. Its errors of input and
// output have the Kind of their cause.
var recordKinds = map[recordio.Kind]pfs.Kind{
	recordio.Truncated:   pfs.Integrity,
	recordio.Checksum:    pfs.Integrity,
	recordio.Malformed:   pfs.Integrity,
	recordio.Limit:       pfs.Integrity,
	recordio.Unsupported: pfs.Integrity,
	recordio.Stale:       pfs.Integrity,
	recordio.OutOfRange:  pfs.NotExist,
	recordio.Closed:      pfs.Closed,
	recordio.Invalid:     pfs.Invalid,
}

// RecordError gives an error of package recordio its exit code; others are returned
// as they are.
func RecordError(err error) error {
	var e *recordio.Error
	var p *pfs.Error
	if !errors.As(err, &e) || errors.As(err, &p) {
		return err
	}
	kind, ok := recordKinds[e.Kind]
	if !ok {
		return err
	}
	return DataError(err, kind)
}

// ConvertError gives an error of package convert its exit code; others are returned
// as they are.
func ConvertError(err error) error {
	var p *pfs.Error
	if err == nil || errors.As(err, &p) {
		return err
	}
	switch {
	case errors.Is(err, convert.ErrChecksum), errors.Is(err, convert.ErrTruncated), errors.Is(err, convert.ErrDamaged):
		return DataError(err, pfs.Integrity)
	case errors.Is(err, convert.ErrUnsupported):
		return DataError(err, pfs.Unsupported)
	}
	return err
}
