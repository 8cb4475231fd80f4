package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// summaryEvery is the time between two lines on a terminal.
	summaryEvery = time.Second
	// summaryUsers is the maximum number of users in a line.
	summaryUsers = 3
)

// auditSummary is a slog.Handler that summarizes audit lines for a terminal, in at most one line a
// second.
type auditSummary struct {
	say func(line string)

	mu      sync.Mutex
	methods map[string]int  // requested changes by method; nil if there were none since the last line
	users   map[string]bool // the requesting users
	refused int
}

// The audit log puts all attributes into its records.
func (a *auditSummary) Enabled(context.Context, slog.Level) bool { return true }
func (a *auditSummary) WithAttrs([]slog.Attr) slog.Handler       { return a }
func (a *auditSummary) WithGroup(string) slog.Handler            { return a }

// Handle counts one audit line.
func (a *auditSummary) Handle(_ context.Context, r slog.Record) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.methods == nil {
		a.methods, a.users, a.refused = map[string]int{}, map[string]bool{}, 0
		time.AfterFunc(summaryEvery, a.flush)
	}
	r.Attrs(func(attr slog.Attr) bool {
		switch value := attr.Value.String(); attr.Key {
		case "method":
			a.methods[value]++
		case "user":
			a.users[value] = true
		case "result":
			if value != auditDone {
				a.refused++
			}
		}
		return true
	})
	return nil
}

// flush writes the counts.
func (a *auditSummary) flush() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.methods == nil {
		return
	}
	most := slices.SortedFunc(maps.Keys(a.methods), func(x, y string) int {
		return cmp.Or(cmp.Compare(a.methods[y], a.methods[x]), cmp.Compare(x, y))
	})
	for i, method := range most {
		most[i] = fmt.Sprintf("%d %s", a.methods[method], method)
	}
	users := slices.Sorted(maps.Keys(a.users))
	if more := len(users) - summaryUsers; more > 0 {
		users = append(users[:summaryUsers], fmt.Sprintf("%d more", more))
	}
	line := fmt.Sprintf("%s %s: %s", time.Now().Format(time.TimeOnly), strings.Join(users, ", "), strings.Join(most, ", "))
	if a.refused > 0 {
		line += fmt.Sprintf("; %d refused", a.refused)
	}
	a.methods = nil
	a.say(line)
}

// Close writes the remaining counts.
func (a *auditSummary) Close() error {
	a.flush()
	return nil
}
