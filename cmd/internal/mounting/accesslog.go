package mounting

import (
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/fuse"
)

// accessLog writes a line for each request: time, operation, path, bytes, seconds, result.
type accessLog struct {
	name   string
	logger *slog.Logger

	mu     sync.Mutex // guards the following
	file   *os.File
	line   []byte
	failed bool
}

// openAccessLog opens the log with that name. It is opened again at SIGHUP, so that it can be rotated.
func openAccessLog(name string, logger *slog.Logger) (*accessLog, error) {
	l := &accessLog{name: name, logger: logger}
	if err := l.open(); err != nil {
		return nil, err
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			if err := l.open(); err != nil {
				logger.Warn("the access log goes on in the old file", "error", err)
			}
		}
	}()
	return l, nil
}

func (l *accessLog) open() error {
	f, err := os.OpenFile(l.name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close()
	}
	l.file = f
	return nil
}

// add writes the line of r.
func (l *accessLog) add(r fuse.Request) {
	path := string(r.Path())
	if strings.ContainsFunc(path, func(c rune) bool { return c <= ' ' || c == '"' || !strconv.IsPrint(c) }) {
		path = strconv.Quote(path)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line = time.Now().UTC().AppendFormat(l.line[:0], "2006-01-02T15:04:05.000000Z ")
	l.line = append(append(append(append(l.line, r.Op...), ' '), path...), ' ')
	l.line = append(strconv.AppendInt(l.line, int64(r.Bytes), 10), ' ')
	l.line = append(strconv.AppendFloat(l.line, r.Took.Seconds(), 'f', 6, 64), ' ')
	l.line = append(append(l.line, r.Result...), '\n')
	_, err := l.file.Write(l.line)
	if failed := err != nil; failed != l.failed {
		if l.failed = failed; failed {
			l.logger.Warn("lines of the access log are lost", "error", err)
		}
	}
}
