package transfer

import (
	"errors"
	"os"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// spool keeps the newest bytes of a stream in a temporary file, so that a piece that the
// target lost can be sent again. That it cannot keep them is no error as long as nobody
// asks for them.
type spool struct {
	size int64 // bytes that are kept; what is at off in the stream is at off%size in the file

	mu   sync.Mutex
	file *os.File
	err  error // why nothing is kept any more
}

func newSpool(size int64) *spool {
	s := &spool{size: size}
	s.file, s.err = os.CreateTemp("", "pfs-stream-")
	if s.err == nil {
		_ = os.Remove(s.file.Name()) // where the system can, so that no crash leaves it
	}
	return s
}

// keep takes what is at off in the stream. p does not go over a multiple of size.
func (s *spool) keep(p []byte, off int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		_, s.err = s.file.WriteAt(p, off%s.size)
	}
}

// read fills p with what was kept from off in the stream.
func (s *spool) read(p []byte, off int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		_, s.err = s.file.ReadAt(p, off%s.size)
	}
	if s.err == nil {
		return nil
	}
	return pfs.Errorf("transfer.FromReader", "", pfs.Integrity,
		"the target lost bytes of the stream, which could not be kept here to be sent again: %w: send the stream again, with TMPDIR set to a folder that has room for %d bytes", s.err, s.size)
}

// close removes the file.
func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return
	}
	_ = s.file.Close()
	if err := os.Remove(s.file.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.err = err
	}
}
