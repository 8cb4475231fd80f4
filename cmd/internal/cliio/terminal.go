package cliio

import (
	"io"
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether v, a reader or writer, is a terminal.
func IsTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns the columns of the terminal w; 80 if it does not say.
func Width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

// ReadPassword reads a line from the terminal r without showing it.
func ReadPassword(r *os.File) (string, error) {
	p, err := term.ReadPassword(int(r.Fd()))
	return string(p), err
}
