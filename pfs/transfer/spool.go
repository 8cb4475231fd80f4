package transfer

import (
	"fmt"
	"os"

	"github.com/paddlecloud/pfs/internal/tempfile"
	"github.com/paddlecloud/pfs/pfs"
)

// spool keeps the newest bytes of a stream in a temporary file. If the file fails, the error is
// reported only when bytes are read back.
type spool struct {
	size int64 // number of bytes kept; offset off of the stream is at off%size in the file
	file *tempfile.File
	err  error // why nothing is kept any more
}

func newSpool(size int64) *spool {
	s := &spool{size: size}
	s.file, s.err = tempfile.New()
	return s
}

// keep stores the bytes at off in the stream. p does not cross a multiple of size.
func (s *spool) keep(p []byte, off int64) {
	if s.err == nil {
		_, s.err = s.file.WriteAt(p, off%s.size)
	}
}

// read fills p with the bytes at off in the stream, or returns Integrity if they could not be kept.
func (s *spool) read(p []byte, off int64) error {
	if s.err == nil {
		_, s.err = s.file.ReadAt(p, off%s.size)
	}
	if s.err == nil {
		return nil
	}
	return pfs.E("transfer.spool", "", pfs.Integrity, &notKept{s.size, s.err})
}

// close removes the file.
func (s *spool) close() {
	if s == nil || s.file == nil {
		return
	}
	_ = s.file.Close()
	s.file, s.err = nil, os.ErrClosed
}

// notKept is the error about bytes that neither the target nor the spool has.
type notKept struct {
	size int64
	err  error
}

func (e *notKept) Error() string {
	return fmt.Sprintf("the target lost bytes that cannot be read again, and they could not be kept here (%v): "+
		"start again, with TMPDIR set to a folder that has room for %d bytes", e.err, e.size)
}

func (e *notKept) Unwrap() error { return e.err }
