package localfs

import (
	"os"
	"sync"
)

// shared is the shared lock of an open file, held while at least one user of the handle needs it:
// the lock belongs to the open file, not to the goroutine.
type shared struct {
	file *os.File

	mu    sync.Mutex
	users int
}

func (s *shared) acquire() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		if err := lockFile(s.file, false); err != nil {
			return err
		}
	}
	s.users++
	return nil
}

// release gives the lock back with its last user. If that fails, closing the file releases it.
func (s *shared) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	if s.users == 0 {
		_ = unlockFile(s.file)
	}
}
