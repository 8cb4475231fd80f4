package recordfile

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// inputBuffer is how much of a stream is read at once.
const inputBuffer = 256 << 10

// lazyReader calls start before the first Read.
type lazyReader struct {
	io.Reader
	start func()
}

func (r lazyReader) Read(p []byte) (int, error) {
	r.start()
	return r.Reader.Read(p)
}

// stoppable returns a reader of r that fails when ctx is done or stop is called, although a Read
// of r, such as one from a terminal or a pipe, may never return. It reads nothing from r before
// its own first Read.
func stoppable(ctx context.Context, r io.Reader) (_ io.Reader, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	pr, pw := io.Pipe()
	context.AfterFunc(ctx, func() { pw.CloseWithError(pfs.CheckContext(ctx, "recordfile.Read", "")) })
	start := sync.OnceFunc(func() {
		go func() {
			_, err := io.CopyBuffer(pw, struct{ io.Reader }{r}, make([]byte, inputBuffer))
			pw.CloseWithError(err)
		}()
	})
	return bufio.NewReaderSize(lazyReader{pr, start}, inputBuffer), cancel
}

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
