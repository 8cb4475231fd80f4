package shard

import "io/fs"

// reason is a sentinel for errors.Is. All errors of this package are also fs.ErrInvalid.
type reason string

func (r reason) Error() string { return string(r) }

func (r reason) Is(target error) bool { return target == fs.ErrInvalid }

// The errors of this package. They are wrapped in a message with the position and the remedy.
var (
	ErrTrainer   error = reason("bad trainer")                    // an id out of range, or sources that disagree
	ErrNoTrainer error = reason("not told which trainer this is") // no source is present
	ErrIdle      error = reason("too little for the trainers")    // a trainer would get nothing
	ErrMissing   error = reason("files are missing")
	ErrDuplicate error = reason("duplicate files")
	ErrStale     error = reason("files of another set are mixed in")
	ErrFile      error = reason("bad file of a dataset") // invalid names or counts
	ErrOption    error = reason("bad option")
	ErrCursor    error = reason("the cursor does not fit") // of another dataset, or beyond its end
)
