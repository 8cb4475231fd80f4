package split

import "io/fs"

// reason is a sentinel for errors.Is. All errors of this package are also fs.ErrInvalid.
type reason string

func (r reason) Error() string { return string(r) }

func (r reason) Is(target error) bool { return target == fs.ErrInvalid }

// The errors of this package. They are wrapped in a message with the position and the remedy.
var (
	ErrPattern    error = reason("bad pattern of names")
	ErrRule       error = reason("bad splitting rule")
	ErrNeedsCount error = reason("the number of records must be known")
	ErrNeedsSizes error = reason("the sizes of the records must be known")
	ErrCount      error = reason("wrong number of records")
	ErrDigits     error = reason("too many files for the pattern")
)
