package shard

import (
	"fmt"
	"io/fs"
	"strings"
)

// SetError describes what is wrong with the files of a dataset. It matches ErrMissing, ErrDuplicate
// and ErrStale if there are such files.
type SetError struct {
	Missing   []string // the first missing files
	Absent    int64    // number of missing files
	Duplicate []string // files that exist already under another name, or twice
	Stale     []string // files of another set, usually of an earlier run
}

// maxNamed bounds SetError.Missing, because a name can promise any number of files.
const maxNamed = 20

// Error returns a text such as "files are missing: a, b and 3 more; ...".
func (e *SetError) Error() string {
	var parts []string
	add := func(what error, names []string, total int64, wayOut string) {
		if total > 0 {
			parts = append(parts, fmt.Sprintf("%v: %s: %s", what, some(names, total), wayOut))
		}
	}
	add(ErrMissing, e.Missing, e.Absent, "the set is not complete; write or copy it again")
	add(ErrDuplicate, e.Duplicate, int64(len(e.Duplicate)), "use a narrower pattern, or remove the duplicates")
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

// orNil returns e if it contains anything.
func (e *SetError) orNil() error {
	if e.Absent == 0 && len(e.Duplicate) == 0 && len(e.Stale) == 0 {
		return nil
	}
	return e
}
