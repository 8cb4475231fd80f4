package main

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

// Limits that keep requests from filling the disk with log lines.
const (
	// maxField bounds one field of a line, in bytes as written. A valid Path fits.
	maxField = 8 << 10
	// maxRefused bounds a field of an audit line about a refusal.
	maxRefused = 256
	// manyLines is how many lines of one kind and user are written within manyWithin.
	manyLines  = 100
	manyWithin = time.Minute
	// maxKinds bounds the kinds that are counted at a time.
	maxKinds = 1 << 14
)

// boundedHandler shortens fields, and omits lines of one kind that are too frequent.
type boundedHandler struct {
	slog.Handler
	flood *flood
}

func newBoundedHandler(h slog.Handler) *boundedHandler {
	return &boundedHandler{h, &flood{lines: map[lineKind]int{}}}
}

// Handle writes r within the limits.
func (b *boundedHandler) Handle(ctx context.Context, r slog.Record) error {
	kind, done, most := lineKind{message: r.Message}, false, maxField
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "user":
			kind.user = boundValue(a.Value, maxRefused).String()
		case "method": // so that failed logins in a user's name do not hide refusals of that user
			kind.method = boundValue(a.Value, maxRefused).String()
		case "result":
			if done = a.Value.String() == auditDone; !done {
				most = maxRefused
			}
		}
		return true
	})
	short := slog.NewRecord(r.Time, r.Level, boundText(r.Message, maxField), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		short.AddAttrs(slog.Attr{Key: a.Key, Value: boundValue(a.Value, most)})
		return true
	})
	if !done && r.Level >= slog.LevelInfo && !b.flood.admit(kind, func(text string, args ...any) { b.tell(ctx, r.Level, kind, text, args...) }) {
		return nil
	}
	return b.Handler.Handle(ctx, short)
}

// auditDone is the result of a successful change in an audit line.
const auditDone = "ok"

// tell writes a line about the lines of a kind.
func (b *boundedHandler) tell(ctx context.Context, level slog.Level, kind lineKind, text string, args ...any) {
	r := slog.NewRecord(time.Now(), level, text, 0)
	r.Add("of", kind.message, "user", kind.user)
	if kind.method != "" {
		r.Add("method", kind.method)
	}
	r.Add(args...)
	_ = b.Handler.Handle(ctx, r)
}

func (b *boundedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for i, a := range attrs {
		attrs[i].Value = boundValue(a.Value, maxField)
	}
	return &boundedHandler{b.Handler.WithAttrs(attrs), b.flood}
}

func (b *boundedHandler) WithGroup(name string) slog.Handler {
	return &boundedHandler{b.Handler.WithGroup(name), b.flood}
}

// lineKind identifies lines that are counted together.
type lineKind struct{ message, user, method string }

// flood counts lines.
type flood struct {
	mu    sync.Mutex
	lines map[lineKind]int // within manyWithin of the first one
}

// admit reports whether one more line may be written. It calls tell for the first line that may
// not, and after manyWithin with the number of omitted lines.
func (f *flood) admit(kind lineKind, tell func(text string, args ...any)) bool {
	f.mu.Lock()
	n, counted := f.lines[kind]
	if !counted && len(f.lines) >= maxKinds {
		f.mu.Unlock()
		return true
	}
	f.lines[kind] = n + 1
	f.mu.Unlock()
	if !counted {
		time.AfterFunc(manyWithin, func() {
			f.mu.Lock()
			left := f.lines[kind] - manyLines
			delete(f.lines, kind)
			f.mu.Unlock()
			if left > 0 {
				tell("lines were left out", "lines", left)
			}
		})
	}
	if n == manyLines {
		tell("too many lines: more of them are left out", "within", manyWithin)
	}
	return n < manyLines
}

// boundValue shortens texts, and values that are written as texts.
func boundValue(v slog.Value, most int) slog.Value {
	v = v.Resolve()
	var text string
	switch v.Kind() {
	case slog.KindString:
		text = v.String()
	case slog.KindAny:
		text = fmt.Sprintf("%+v", v.Any())
	default:
		return v
	}
	if short := boundText(text, most); short != text {
		return slog.StringValue(short)
	}
	return v
}

// boundText cuts s to at most that many bytes as written, escapes counted, and adds its length.
func boundText(s string, most int) string {
	mark := fmt.Sprintf("…[%d bytes]", len(s))
	written, kept := 0, 0 // kept is how much fits together with mark
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if written += writtenBytes(r); written > most {
			return s[:kept] + mark
		}
		if written <= most-len(mark) {
			kept = i
		}
	}
	return s
}

// writtenBytes returns the maximum number of bytes of r in the text and the JSON format.
func writtenBytes(r rune) int {
	switch {
	case r == '"' || r == '\\':
		return 2
	case r > 0xFFFF && !strconv.IsPrint(r):
		return len(`\U00000000`)
	case r == utf8.RuneError || !strconv.IsPrint(r):
		return len(`\u0000`)
	}
	return utf8.RuneLen(r)
}
