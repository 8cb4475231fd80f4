package main

import (
	"log/slog"
	"strings"
	"testing"
)

func TestWarnings(t *testing.T) {
	var w warnings
	log := slog.New(&w)
	log.Info("nothing to worry about")
	if got := w.addTo("fine"); got != "fine" {
		t.Errorf("without warnings: %q", got)
	}
	log.Warn("slower", "reason", "it is off")
	if got := w.addTo("fine"); !strings.HasPrefix(got, "fine; slower") || !strings.Contains(got, "it is off") {
		t.Errorf("with one: %q", got)
	}
}
