package shard

import "io/fs"

// reason is what an error of this package matches by errors.Is. All of them are
// also fs.ErrInvalid.
type reason string

func (r reason) Error() string { return string(r) }

func (r reason) Is(target error) bool { return target == fs.ErrInvalid }

// The errors of this package, wrapped in a message that says where and what to do.
var (
	ErrTrainer   error = reason("bad trainer")                    // an id that is not among the trainers, or sources that disagree
	ErrNoTrainer error = reason("not told which trainer this is") // no source says anything
	ErrIdle      error = reason("too little for the trainers")    // a trainer would get nothing
	ErrMissing   error = reason("files are missing")
	ErrDuplicate error = reason("files are there twice")
	ErrStale     error = reason("files of another set are mixed in")
	ErrFile      error = reason("bad file of a dataset") // names or counts that cannot be
	ErrOption    error = reason("bad option")
	ErrCursor    error = reason("the cursor does not fit") // another dataset, or beyond its end
)
