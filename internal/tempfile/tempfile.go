// Package tempfile makes temporary files that are removed when the process ends, however it ends.
package tempfile

import (
	"errors"
	"os"
)

// File is a file in the directory for temporary files. It has no name any more, or loses it in
// Close where a system keeps the names of open files.
type File struct {
	*os.File
	named bool
}

// Error is the error of a temporary file that cannot be made or written. Another directory, which
// TMPDIR names, may have space.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// New makes an empty file.
func New() (*File, error) {
	f, err := os.CreateTemp("", "pfs-")
	if err != nil {
		return nil, &Error{err}
	}
	return &File{f, os.Remove(f.Name()) != nil}, nil
}

// Write writes to the end of the file.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if err != nil {
		err = &Error{err}
	}
	return n, err
}

// Close removes the file.
func (f *File) Close() error {
	err := f.File.Close()
	if f.named {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
