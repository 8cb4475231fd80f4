package main

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/localjobs"
)

// repeated returns the first line of a program's messages in which a part occurs twice in a row,
// such as "convert: convert: ", or "". All tests check it.
func repeated(messages string) string {
	for line := range strings.Lines(messages) {
		before := ""
		for part := range strings.SplitSeq(strings.TrimSuffix(line, "\n"), ": ") {
			if part = strings.TrimSpace(part); part != "" && part == before {
				return line
			}
			before = part
		}
	}
	return ""
}

func TestRepeated(t *testing.T) {
	for line, want := range map[string]bool{
		"":                                    false,
		"paddlectl: cp: a: not found":         false,
		"a: b: a: b":                          false,
		"paddlectl: convert: convert: a":      true,
		"x: y\nf: not found: not found\nz: z": true,
	} {
		if got := repeated(line) != ""; got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

// watched is the program as scripts run it: one whose messages say something twice fails
// with a code that no script expects.
func watched() {
	if code, is := localjobs.Launch(os.Args); is { // as main does
		os.Exit(code)
	}
	const saidTwice = 99
	m, w := app.NewMain("", version, commands), &watcher{w: os.Stderr}
	m.Patience = time.Second
	m.Stderr = w
	code := m.Run(context.Background())
	if repeated(w.text.String()) != "" {
		code = saidTwice
	}
	os.Exit(code)
}

// watcher keeps the messages that pass by.
type watcher struct {
	w    io.Writer
	text lockedBuffer
}

func (w *watcher) Write(p []byte) (int, error) {
	w.text.Write(p)
	return w.w.Write(p)
}
