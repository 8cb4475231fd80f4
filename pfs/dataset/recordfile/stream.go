package recordfile

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/paddlecloud/pfs/pfs"
)

// stoppable is a reader whose Read returns when ctx is done, though that of the
// reader below may not: a terminal or a pipe on which nothing comes.
type stoppable struct {
	ctx    context.Context
	cancel context.CancelFunc
	r      io.Reader
	ask    chan []byte
	got    chan readResult
	buf    []byte
	rest   []byte
	err    error
}

type readResult struct {
	n   int
	err error
}

// inputBuffer is read from standard input at once.
const inputBuffer = 256 << 10

// newStoppable returns a reader of r that ends with ctx.
func newStoppable(ctx context.Context, r io.Reader) *stoppable {
	ctx, cancel := context.WithCancel(ctx)
	i := &stoppable{ctx: ctx, cancel: cancel, r: r, ask: make(chan []byte), got: make(chan readResult, 1), buf: make([]byte, inputBuffer)}
	go i.serve()
	return i
}

// serve reads what is asked for.
func (i *stoppable) serve() {
	for {
		select {
		case p := <-i.ask:
			n, err := i.r.Read(p)
			i.got <- readResult{n, err}
		case <-i.ctx.Done():
			return
		}
	}
}

func (i *stoppable) Read(p []byte) (int, error) {
	for len(i.rest) == 0 {
		if i.err != nil {
			return 0, i.err
		}
		i.fill()
	}
	n := copy(p, i.rest)
	i.rest = i.rest[n:]
	return n, nil
}

// fill reads once.
func (i *stoppable) fill() {
	if i.err = pfs.CheckContext(i.ctx, "recordfile.Read", ""); i.err != nil {
		return
	}
	select {
	case i.ask <- i.buf:
	case <-i.ctx.Done():
		i.err = pfs.CheckContext(i.ctx, "recordfile.Read", "")
		return
	}
	select {
	case r := <-i.got:
		i.rest, i.err = i.buf[:r.n], r.err
	case <-i.ctx.Done():
		i.err = pfs.CheckContext(i.ctx, "recordfile.Read", "")
	}
}

// stop ends the use; a Read of the reader below may still be in progress.
func (i *stoppable) stop() { i.cancel() }

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
