package cliio

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether v, a reader or writer, is a terminal.
func IsTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns the columns of the terminal w; 80 if unknown.
func Width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

// ReadPassword reads a line from the terminal r without echo. If ctx is done first it returns ctx's
// error and restores the echo.
func ReadPassword(ctx context.Context, r *os.File) (string, error) {
	fd := int(r.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	type answer struct {
		password []byte
		err      error
	}
	got := make(chan answer, 1)
	go func() {
		p, err := term.ReadPassword(fd)
		got <- answer{p, err}
	}()
	select {
	case a := <-got:
		return string(a.password), a.err
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(fd, before))
	}
}
