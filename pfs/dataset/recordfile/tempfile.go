package recordfile

import (
	"errors"
	"os"
)

// TempFile is a file in the folder for temporary files that goes away with the process,
// however that ends: it has lost its name already, or loses it in Close where a system
// keeps the names of open files.
type TempFile struct {
	*os.File
	named bool
}

// TempError says that a temporary file could not be made or written. Another folder, which
// TMPDIR names, may have room.
type TempError struct{ Err error }

func (e *TempError) Error() string { return e.Err.Error() }
func (e *TempError) Unwrap() error { return e.Err }

// NewTempFile makes an empty file.
func NewTempFile() (*TempFile, error) {
	f, err := os.CreateTemp("", "paddlectl-records-")
	if err != nil {
		return nil, &TempError{err}
	}
	return &TempFile{f, os.Remove(f.Name()) != nil}, nil
}

// Write writes to the end of the file.
func (f *TempFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if err != nil {
		err = &TempError{err}
	}
	return n, err
}

// Close removes the file.
func (f *TempFile) Close() error {
	err := f.File.Close()
	if f.named {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
