package cliio

import (
	"bufio"
	"io"
	"sync"
	"time"
)

// Output collects small writes and passes them on within a moment, so that a million lines cost few
// writes and the first one appears at once. It is safe for concurrent use.
type Output struct {
	mu      sync.Mutex
	w       *bufio.Writer
	pending *time.Timer // nil if nothing is buffered
}

// NewOutput returns an Output to w.
func NewOutput(w io.Writer) *Output { return &Output{w: bufio.NewWriterSize(w, 64<<10)} }

// flushAfter is how long a write may be buffered.
const flushAfter = 50 * time.Millisecond

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.w.Write(p)
	if o.pending == nil && o.w.Buffered() > 0 {
		o.pending = time.AfterFunc(flushAfter, func() { o.Flush() })
	}
	return n, err
}

// Flush writes the buffer. Errors, of this or an earlier write, are sticky.
func (o *Output) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pending != nil {
		o.pending.Stop()
		o.pending = nil
	}
	return o.w.Flush()
}
