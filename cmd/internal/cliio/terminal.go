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
	password, err := Await(ctx, func() ([]byte, error) { return term.ReadPassword(fd) })
	if ctx.Err() != nil {
		err = errors.Join(ctx.Err(), term.Restore(fd, before))
	}
	return string(password), err
}

// Await returns the result of read, or the error of ctx if ctx is done first. In this case read, which
// waits for input, continues in its goroutine.
func Await[T any](ctx context.Context, read func() (T, error)) (value T, err error) {
	done := make(chan func() (T, error), 1)
	go func() {
		value, err := read()
		done <- func() (T, error) { return value, err }
	}()
	select {
	case result := <-done:
		return result()
	case <-ctx.Done():
		return value, ctx.Err()
	}
}
