package shard

import (
	"io"
	"strings"
)

// WriteList writes names in the form of /train.list and /test.list of training programs: one a
// line, without a line feed after the last. The error is ErrFile for a name that does not fit on a
// line, or that of w.
func WriteList(w io.Writer, names []string) error {
	for _, name := range names {
		if err := checkName(name); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, strings.Join(names, "\n"))
	return err
}
