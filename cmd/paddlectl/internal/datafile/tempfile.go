package datafile

import (
	"errors"
	"os"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
)

// TempFile is a file in the folder for temporary files that goes away with the process,
// however that ends: it has lost its name already, or loses it in Close where a system
// keeps the names of open files.
type TempFile struct {
	*os.File
	named bool
}

func NewTempFile() (*TempFile, error) {
	f, err := os.CreateTemp("", "paddlectl-records-")
	if err != nil {
		return nil, app.WithHint(err, wayToTemp)
	}
	return &TempFile{f, os.Remove(f.Name()) != nil}, nil
}

func (f *TempFile) Close() error {
	err := f.File.Close()
	if f.named {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// Write writes to the end of the file. Where that fails, as on a disk that is full, it
// may not on another.
func (f *TempFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if err != nil {
		err = app.WithHint(err, wayToTemp)
	}
	return n, err
}

const wayToTemp = "TMPDIR names the folder for temporary files"
