package main

import (
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
)

// setLevel sets the level by name.
func setLevel(level *slog.LevelVar, name string) error {
	if err := level.UnmarshalText([]byte(name)); err != nil {
		return cliargs.Usagef("--log-level %q: debug, info, warn or error", name)
	}
	return nil
}

// newLogger returns a log with bounded lines in the given format and level.
func newLogger(w io.Writer, format string, level slog.Leveler) (*slog.Logger, error) {
	opts := &slog.HandlerOptions{Level: level}
	switch format {
	case "text":
		return slog.New(newBoundedHandler(slog.NewTextHandler(w, opts))), nil
	case "json":
		return slog.New(newBoundedHandler(slog.NewJSONHandler(w, opts))), nil
	}
	return nil, cliargs.Usagef("--log-format %q: text or json", format)
}

// logFile is a file that lines are appended to. It can be reopened, so that another program may
// move it away.
type logFile struct {
	path string

	mu sync.Mutex
	f  *os.File
}

// openLogFile opens or makes the file, which only its owner may read.
func openLogFile(path string) (*logFile, error) {
	l := &logFile{path: path}
	return l, l.Reopen()
}

// Reopen continues in the file that has the name now. If that fails, it keeps the old one.
func (l *logFile) Reopen() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return pfs.Errorf("pfsd.Reopen", "", pfs.KindOf(err), "--audit-log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f != nil {
		l.f.Close()
	}
	l.f = f
	return nil
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Write(p)
}

// Close closes the file.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Close()
}
