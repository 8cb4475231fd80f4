package convert

import (
	"bytes"
	"errors"
)

// maxCellLines is how many lines a cell in quotes may have. A quote that is not
// closed, or stands where none belongs, is found out that far behind it.
const maxCellLines = 10_000

// quoting knows where cells in quotes end. Everything that walks through a table asks
// it, so that all see the same rows.
type quoting struct {
	comma byte
	limit int // bytes of a cell; 0 is none
}

// errOpen says that a cell is still open where the text ends. It is a fault only where
// that is the end of the input.
var errOpen = errors.New("open")

// cell returns the length of the cell in quotes that p begins with, quotes included,
// whether it has quotes inside, and whether it is one: behind it there must be a comma,
// or the end of the line or of p.
func (q quoting) cell(p []byte) (n int, inside bool, err error) {
	lines, counted := 0, 0
	for i := 1; ; i++ {
		at := bytes.IndexByte(p[i:], '"')
		if at < 0 {
			at = len(p) - i
		}
		i += at
		if i > maxCellLines { // less cannot have so many lines
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

// behind returns an error unless a cell in quotes may end in front of p.
func (q quoting) behind(p []byte) error {
	if len(p) == 0 || p[0] == q.comma || p[0] == '\n' {
		return nil
	}
	if p[0] == '\r' && (len(p) == 1 || p[1] == '\n') {
		return nil
	}
	return faultf(ErrSyntax, "%s stands behind a closing quote", clip(p[:min(len(p), 1)]))
}

// firstLine returns the length of the first line of p, with its end.
func firstLine(p []byte) int {
	if n := bytes.IndexByte(p, '\n'); n >= 0 {
		return n + 1
	}
	return len(p)
}
