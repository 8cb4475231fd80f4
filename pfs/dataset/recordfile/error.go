package recordfile

import (
	"errors"
	"path"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// kindError gives an error about the content of a file the Kind of an error of file systems.
type kindError struct {
	err  error
	kind pfs.Kind
}

func (e kindError) Error() string   { return e.err.Error() }
func (e kindError) Unwrap() []error { return []error{e.err, e.kind} }

// WithKind returns err with a Kind. Its text stays the same.
func WithKind(err error, kind pfs.Kind) error { return kindError{err, kind} }

// recordKinds maps the Kinds of package recordio. Errors of input and output have the Kind of their
// cause.
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

// RecordError gives an error of package recordio its Kind; others are returned
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
	return kindError{err, kind}
}

// ConvertError gives an error of package convert its Kind; others are returned
// as they are.
func ConvertError(err error) error {
	var p *pfs.Error
	if err == nil || errors.As(err, &p) {
		return err
	}
	switch {
	case errors.Is(err, convert.ErrChecksum), errors.Is(err, convert.ErrTruncated), errors.Is(err, convert.ErrDamaged):
		return kindError{err, pfs.Integrity}
	case errors.Is(err, convert.ErrUnsupported):
		return kindError{err, pfs.Unsupported}
	}
	return err
}

// ForeignError reports a file that should be RecordIO but looks like another format.
type ForeignError struct {
	Format string // as package convert calls it
	Err    error
}

func (e *ForeignError) Error() string { return e.Err.Error() }
func (e *ForeignError) Unwrap() error { return e.Err }

// firstOfMagic is the byte with which every chunk begins; no text does.
const firstOfMagic = 0x04

// Explain gives an error of package recordio about in its Kind. If the file does not begin as
// RecordIO and looks like a known format, it is a ForeignError.
func (in *Input) Explain(err error) error {
	var e *recordio.Error
	if !errors.As(err, &e) || e.Kind != recordio.Malformed && e.Kind != recordio.Truncated || e.Offset != 0 || in.ReaderAt == nil {
		return RecordError(err)
	}
	head := make([]byte, convert.SniffLen)
	n, _ := in.ReaderAt.ReadAt(head, 0) // a file that cannot be read looks like nothing
	format, unknown := convert.Sniff(head[:n], path.Base(in.Title))
	if unknown != nil || head[0] == firstOfMagic {
		return RecordError(err)
	}
	return &ForeignError{format.Name, RecordError(err)}
}
