package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// warnings is a log handler that collects messages for the user about one test.
type warnings struct {
	mu     sync.Mutex
	lines  []string
	failed bool // whether one of them is an error
}

func (w *warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle keeps the message and the values of its attributes.
func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " (" + a.Key + ": " + a.Value.String() + ")"
		return true
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line)
	w.failed = w.failed || r.Level >= slog.LevelError
	return nil
}

func (w *warnings) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w *warnings) WithGroup(string) slog.Handler      { return w }

// addTo appends the warnings to says, and returns an error if one of them is an error.
func (w *warnings) addTo(says string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	says = strings.Join(append([]string{says}, w.lines...), "; ")
	if w.failed {
		return "", pfs.Errorf("pfsd.check", "", pfs.Unavailable, "%s", says)
	}
	return says, nil
}
