package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// A line of the log has a bounded length, whatever the request.
func TestLinesAreBounded(t *testing.T) {
	texts := map[string]string{
		"plain": strings.Repeat("a", 64<<10), "control": strings.Repeat("\x01", 64<<10), "quotes": strings.Repeat(`"`, 64<<10), "not UTF-8": strings.Repeat("\xff", 64<<10),
		"wide": strings.Repeat("\U000e0001", 16<<10), "words": strings.Repeat("路径", 10<<10), "separators": strings.Repeat("\u2028", 20<<10),
	}
	for name, text := range texts {
		for _, format := range []string{"text", "json"} {
			var out bytes.Buffer
			log, err := newLogger(&out, format, slog.LevelInfo)
			if err != nil {
				t.Fatal(err)
			}
			lines := []struct {
				what string
				log  func()
				most int
			}{
				{"refused", func() {
					log.Info("audit", "user", text, "result", "permission denied", "path", text, "to", pfs.Path(text))
				}, 3*maxRefused + 200},
				{"done", func() { log.Info("audit", "user", "ann", "result", "ok", "path", pfs.Path(text)) }, maxField + 200},
				{"error", func() { log.Error(text, "error", errors.New(text)) }, 2*maxField + 200},
				{"of a store", func() { log.With("datacenter", text).Warn("x") }, maxField + 200},
			}
			for _, l := range lines {
				out.Reset()
				l.log()
				if n := out.Len(); n > l.most || !strings.Contains(out.String(), fmt.Sprintf("…[%d bytes]", len(text))) {
					t.Errorf("%s, %s, %s: %d bytes, want at most %d: %.100s", name, format, l.what, n, l.most, out.String())
				}
			}
		}
	}
}

func TestWhatFitsIsNotCut(t *testing.T) {
	for _, text := range []string{"", "/pfs/local/home/ann/f", strings.Repeat("x", maxRefused), strings.Repeat("\n", maxRefused/6)} {
		if got := boundText(text, maxRefused); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if path := strings.Repeat("a", pfs.MaxPath); boundText(path, maxField) != path {
		t.Error("a path was cut")
	}
}

// The refusals of one user do not fill the log, and do not suppress the lines of others.
func TestRefusedLinesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log, err := newLogger(&out, "text", slog.LevelInfo)
		if err != nil {
			t.Fatal(err)
		}
		audit := func(user, result string) { log.Info("audit", "user", user, "result", result) }
		for range manyLines + 50 {
			audit("mallory", "permission denied")
			audit("ann", "ok")
		}
		audit("bob", "permission denied")
		for range manyLines + 1 {
			log.Info("audit", "user", "eve", "method", "login", "result", "not logged in")
		}
		log.Info("audit", "user", "eve", "method", "remove", "result", "permission denied")
		time.Sleep(manyWithin)
		synctest.Wait()
		audit("mallory", "permission denied")
		for want, n := range map[string]int{
			"user=mallory result": manyLines + 1, "user=ann result=ok": manyLines + 50, "user=bob": 1,
			"user=eve method=remove": 1, "user=eve method=login result": manyLines,
			`msg="too many lines: more of them are left out" of=audit user=mallory within=1m0s`: 1, `msg="lines were left out" of=audit user=mallory lines=50`: 1,
		} {
			if got := strings.Count(out.String(), want); got != n {
				t.Errorf("%d lines with %q, want %d", got, want, n)
			}
		}
	})
}
