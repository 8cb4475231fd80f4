package convert

import (
	"bytes"
	"errors"
)

// maxCellLines is the maximum number of lines in a quoted cell, and so the distance within which an
// unclosed or misplaced quote is detected.
const maxCellLines = 10_000

// quoting finds the ends of quoted cells. All code that walks through a table uses it, so that all
// of it sees the same rows.
type quoting struct {
	comma byte
	limit int // maximum bytes of a cell; 0 is no limit
}

// errOpen means that a cell is still open at the end of the text. It is a fault only at the end of
// the input.
var errOpen = errors.New("open")

// cell returns the length of the quoted cell at the start of p, quotes included, whether it
// contains quotes, and an error unless a comma, the end of the line or the end of p follows.
func (q quoting) cell(p []byte) (n int, inside bool, err error) {
	lines, counted := 0, 0
	for i := 1; ; i++ {
		at := bytes.IndexByte(p[i:], '"')
		if at < 0 {
			at = len(p) - i
		}
		i += at
		if i > maxCellLines { // a smaller i cannot mean so many lines
			lines += bytes.Count(p[counted:i], newline)
			counted = i
		}
		switch {
		case lines > maxCellLines:
			return 0, false, faultf(ErrSyntax, "a quote is opened and not closed within %d lines", maxCellLines)
		case q.limit > 0 && i > q.limit:
			return 0, false, faultf(ErrLimit, "a quote is opened and not closed within the limit of %d bytes", q.limit)
		case i == len(p):
			return 0, false, errOpen
		}
		if i++; i == len(p) || p[i] != '"' {
			return i, inside, q.behind(p[i:])
		}
		inside = true
	}
}

// behind returns an error unless a quoted cell may end before p.
func (q quoting) behind(p []byte) error {
	if len(p) == 0 || p[0] == q.comma || p[0] == '\n' {
		return nil
	}
	if p[0] == '\r' && (len(p) == 1 || p[1] == '\n') {
		return nil
	}
	return faultf(ErrSyntax, "%s follows a closing quote", clip(p[:min(len(p), 1)]))
}

// firstLine returns the length of the first line of p, including its end.
func firstLine(p []byte) int {
	if n := bytes.IndexByte(p, '\n'); n >= 0 {
		return n + 1
	}
	return len(p)
}
