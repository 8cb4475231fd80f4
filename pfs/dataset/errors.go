package dataset

import (
	"errors"
	"fmt"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// Reason tells the caller what to do about an Error.
type Reason uint8

// The reasons.
const (
	BadOption       Reason = iota // options that are invalid or contradict each other
	Exists                        // a dataset exists: Options.Force replaces it
	ShardsExist                   // shards without a manifest exist: Options.Force replaces them
	Empty                         // there is no file or no record: AllowEmpty makes an empty dataset
	Unfinished                    // an earlier conversion was not completed: Options.Resume or Options.Restart
	OtherJob                      // the earlier conversion had other inputs or options: Options.Restart
	Busy                          // another run is at work
	NotDataset                    // there is no manifest: see Error.Begun and Error.Files
	NoVersion                     // there is no such complete version: see Error.Versions
	Stray                         // a published version would have a file that is not part of the set
	UnnamedStray                  // the same for an entry whose name cannot be in a path
	OtherSchema                   // readers of the newest version expect another one: PublishOptions.ChangeSchema
	TooManyVersions               // no numbers are left in this directory: another one begins with 1
	TooFewFiles                   // there are fewer files than trainers
)

// Error is an error with a reason. It wraps an error that has a pfs.Kind.
type Error struct {
	Reason Reason
	Err    error

	Path     pfs.Path     // may be empty
	Dir      transfer.End // of NotDataset: the directory, if there is one
	Begun    string       // the dataset whose conversion was not completed
	Files    bool         // the directory has files
	Versions []int        // the complete versions
}

// Error names the path unless Err does.
func (e *Error) Error() string {
	if e.Path == "" || e.Names() {
		return e.Err.Error()
	}
	return string(e.Path) + ": " + e.Err.Error()
}

// Names reports whether Err names the path.
func (e *Error) Names() bool {
	return errors.As(e.Err, new(*pfs.Error)) || errors.As(e.Err, new(*Error))
}

func (e *Error) Unwrap() error { return e.Err }

// failure returns an error with a reason.
func failure(reason Reason, op string, at pfs.Path, kind pfs.Kind, format string, args ...any) error {
	return &Error{Reason: reason, Path: at, Err: pfs.Errorf(op, at, kind, format, args...)}
}

// invalid is the error for bad options.
func invalid(format string, args ...any) error {
	return &Error{Err: recordfile.WithKind(fmt.Errorf(format, args...), pfs.Invalid)}
}

// plain is a failure whose text is only the message, without that of its Kind.
func plain(reason Reason, at transfer.End, kind pfs.Kind, text string) *Error {
	return &Error{Reason: reason, Path: at.Path, Dir: at, Err: recordfile.WithKind(errors.New(text), kind)}
}

// isMissing reports whether err says that a file does not exist.
func isMissing(err error) bool { return errors.Is(err, pfs.NotExist) }

// count formats a number of things.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
