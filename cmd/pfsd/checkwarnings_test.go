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
	if got, err := w.addTo("fine"); got != "fine" || err != nil {
		t.Errorf("without warnings: %q, %v", got, err)
	}
	log.Warn("slower", "reason", "it is off")
	if got, err := w.addTo("fine"); !strings.HasPrefix(got, "fine; slower") || !strings.Contains(got, "it is off") || err != nil {
		t.Errorf("with one: %q, %v", got, err)
	}
	log.Error("away", "reason", "refused")
	if got, err := w.addTo("fine"); got != "" || err == nil || !strings.Contains(err.Error(), "fine; slower (reason: it is off); away (reason: refused)") {
		t.Errorf("with an error: %q, %v", got, err)
	}
}
