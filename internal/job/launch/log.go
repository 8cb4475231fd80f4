package launch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
)

// The bounds of a log unless Options say otherwise.
const (
	DefaultLogSize  = 16 << 20
	DefaultLogFiles = 8
)

// logFiles is the log of a rank: at most keep files, each of about size bytes. Its streams share it.
type logFiles struct {
	dir  string
	size int64
	keep int

	mu      sync.Mutex
	f       *os.File
	n       int   // the number of f
	written int64 // to f
	lost    int64 // bytes that could not be written since the last that could
	cause   error
}

// copyLines writes the lines of r to the log and, unchanged, to tee if that is not nil, until r ends. It
// never fails: a log that cannot be written must not end the entry.
func (l *logFiles) copyLines(r io.Reader, stream string, tee io.Writer) {
	in := bufio.NewReaderSize(r, job.MaxLogText)
	var batch, raw []byte
	for {
		text, err := in.ReadSlice('\n')
		if len(text) > 0 {
			raw = append(raw, text...)
			line := job.LogLine{Time: time.Now(), Stream: stream, Text: bytes.TrimSuffix(text, []byte("\n"))}
			line.Partial = errors.Is(err, bufio.ErrBufferFull)
			batch = line.Append(batch)
		}
		ended := err != nil && !errors.Is(err, bufio.ErrBufferFull)
		rest, _ := in.Peek(in.Buffered())
		if len(batch) > 4*job.MaxLogText || ended || bytes.IndexByte(rest, '\n') < 0 {
			l.write(batch)
			if tee != nil {
				tee.Write(raw) // a reader that has gone must not end the entry
			}
			batch, raw = batch[:0], raw[:0]
		}
		if ended {
			return
		}
	}
}

// write writes whole lines.
func (l *logFiles) write(lines []byte) {
	if len(lines) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost > 0 {
		note := job.LogLine{Time: time.Now(), Stream: job.Stderr, Text: fmt.Appendf(nil, "pfs: %d bytes of the log are lost: %v", l.lost, l.cause)}
		if l.put(note.Append(nil)) == nil {
			l.lost = 0
		}
	}
	if err := l.put(lines); err != nil {
		l.lost += int64(len(lines))
		l.cause = err
	}
}

func (l *logFiles) put(lines []byte) error {
	if l.f == nil || l.written >= l.size {
		if err := l.next(); err != nil {
			return err
		}
	}
	n, err := l.f.Write(lines)
	if err != nil && n > 0 {
		l.f.Truncate(l.written) // no half lines
		return err
	}
	l.written += int64(n)
	return err
}

// next begins the next file, and removes the first if there are too many.
func (l *logFiles) next() error {
	f, err := os.OpenFile(filepath.Join(l.dir, job.LogName(l.n+1)), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if l.f != nil {
		l.f.Close()
	}
	l.f, l.written = f, 0
	l.n++
	if old := l.n - l.keep; old > 0 {
		os.Remove(filepath.Join(l.dir, job.LogName(old)))
	}
	return nil
}

// close ends the log.
func (l *logFiles) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}
