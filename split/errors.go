package split

import "io/fs"

// reason is what an error of this package matches by errors.Is. All of them are
// also fs.ErrInvalid.
type reason string

func (r reason) Error() string { return string(r) }

func (r reason) Is(target error) bool { return target == fs.ErrInvalid }

// The errors of this package, wrapped in a message that says where and what to do.
var (
	ErrPattern    error = reason("bad pattern of names")
	ErrRule       error = reason("bad rule of splitting")
	ErrNeedsCount error = reason("the number of records must be known")
	ErrNeedsSizes error = reason("the sizes of the records must be known")
	ErrCount      error = reason("wrong number of records")
	ErrDigits     error = reason("too many files for the pattern")
)
