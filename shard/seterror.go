package shard

import (
	"fmt"
	"io/fs"
	"strings"
)

// SetError tells what is wrong with the files of a dataset. It matches ErrMissing,
// ErrDuplicate and ErrStale, each if there are such files.
type SetError struct {
	Missing   []string // the first of them
	Absent    int64    // how many are missing
	Duplicate []string // files that are there under another name, or twice, already
	Stale     []string // files that belong to another set: as a rule an earlier run's
}

// maxNamed bounds SetError.Missing: names promise any number of files.
const maxNamed = 20

// Error reads "files are missing: a, b and 3 more; ...".
func (e *SetError) Error() string {
	var parts []string
	add := func(what error, names []string, total int64, wayOut string) {
		if total > 0 {
			parts = append(parts, fmt.Sprintf("%v: %s: %s", what, some(names, total), wayOut))
		}
	}
	add(ErrMissing, e.Missing, e.Absent, "the set is not complete; write or copy it again")
	add(ErrDuplicate, e.Duplicate, int64(len(e.Duplicate)), "use a narrower pattern, or remove one of each that holds the same")
	add(ErrStale, e.Stale, int64(len(e.Stale)), "remove them, or use a narrower pattern")
	return strings.Join(parts, "; ")
}

// some writes the first names of total.
func some(names []string, total int64) string {
	const shown = 3
	first := names[:min(shown, len(names))]
	text := strings.Join(first, ", ")
	if more := total - int64(len(first)); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Is reports whether target is one of the reasons that apply, or fs.ErrInvalid.
func (e *SetError) Is(target error) bool {
	switch target {
	case ErrMissing:
		return e.Absent > 0
	case ErrDuplicate:
		return len(e.Duplicate) > 0
	case ErrStale:
		return len(e.Stale) > 0
	}
	return target == fs.ErrInvalid
}

// orNil returns e if it tells of anything.
func (e *SetError) orNil() error {
	if e.Absent == 0 && len(e.Duplicate) == 0 && len(e.Stale) == 0 {
		return nil
	}
	return e
}
