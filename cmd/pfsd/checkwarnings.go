package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"
)

// warnings takes from a log what a user should know, for one result.
type warnings struct {
	mu    sync.Mutex
	lines []string
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
	return nil
}

func (w *warnings) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w *warnings) WithGroup(string) slog.Handler      { return w }

// addTo returns what was said with the warnings behind it.
func (w *warnings) addTo(says string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(append([]string{says}, w.lines...), "; ")
}
