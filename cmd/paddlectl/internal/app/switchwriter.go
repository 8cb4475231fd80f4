package app

import (
	"io"
	"sync"
)

// switchWriter is standard output, or standard error, past the progress bar while there is one.
type switchWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *switchWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// Set makes w the writer and returns the one before.
func (s *switchWriter) Set(w io.Writer) io.Writer {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.w
	s.w = w
	return old
}
