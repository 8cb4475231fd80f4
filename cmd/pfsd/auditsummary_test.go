package main

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A terminal shows one line a second, however many changes there are.
func TestAuditSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		summary := &auditSummary{say: func(line string) { lines = append(lines, line) }}
		log := slog.New(summary)
		for i := range 1500 {
			log.Info("audit", "user", "ann", "method", "batch-write", "result", "ok", "path", fmt.Sprint("/f", i))
			time.Sleep(time.Millisecond)
		}
		for _, user := range []string{"bob", "carol", "dave", "eve"} {
			log.Info("audit", "user", user, "method", "remove", "result", "permission denied")
		}
		if err := summary.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * summaryEvery)
		synctest.Wait()
		if len(lines) != 2 {
			t.Fatalf("lines:\n%s", strings.Join(lines, "\n"))
		}
		_, first, _ := strings.Cut(lines[0], " ")
		_, second, _ := strings.Cut(lines[1], " ")
		if !strings.HasPrefix(first, "ann: 100") || !strings.HasSuffix(first, " batch-write") || !strings.HasPrefix(second, "ann, bob, carol, 2 more: ") || !strings.HasSuffix(second, " batch-write, 4 remove; 4 refused") {
			t.Errorf("lines %q", lines)
		}
	})
}

// A log that is not a terminal has every audit line, as programs that read the log expect.
func TestWhereAuditLinesGo(t *testing.T) {
	for _, tt := range []struct {
		opts     serveOptions
		terminal bool
		want     string
	}{
		{serveOptions{logFormat: "text"}, false, "log"},
		{serveOptions{logFormat: "text"}, true, "summary"},
		{serveOptions{logFormat: "json"}, true, "log"},
		{serveOptions{logFormat: "text", auditLog: "-"}, true, "stdout"},
		{serveOptions{logFormat: "json", auditLog: "-"}, false, "stdout"},
	} {
		var log, stdout, said strings.Builder
		s := &service{opts: tt.opts, stdout: &stdout, terminal: tt.terminal, say: func(line string) { said.WriteString(line) }}
		var err error
		if s.log, err = newLogger(&log, tt.opts.logFormat, slog.LevelInfo); err == nil {
			err = s.openAudit(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		audit, err := s.auditLogger()
		if err != nil {
			t.Fatal(err)
		}
		audit.Info("audit", "user", "ann", "method", "mkdir", "result", "ok")
		if err := s.close(); err != nil {
			t.Error(err)
		}
		got := map[string]string{"log": log.String(), "stdout": stdout.String(), "summary": said.String()}
		for name, text := range got {
			if strings.Contains(text, "mkdir") != (name == tt.want) {
				t.Errorf("%s, terminal %v, --audit-log %q: %s has %q", tt.opts.logFormat, tt.terminal, tt.opts.auditLog, name, text)
			}
		}
	}
}
