package app

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// TestWaitingIsTold checks that messages name the store that does not answer, and are not too frequent.
func TestWaitingIsTold(t *testing.T) {
	var stderr bytes.Buffer
	a := New(&Main{Stdout: &bytes.Buffer{}, Stderr: &stderr})
	now := time.Now()
	a.Now = func() time.Time { return now }
	err := pfs.Errorf("test", pfs.Path("/pfs/dc/home/alice/f"), pfs.Unavailable, "the store is silent")
	for _, tt := range []struct {
		waited, passed time.Duration
		quiet          bool
		want           int // lines so far
	}{
		{waited: 0},
		{waited: tellAfter - 1},
		{waited: tellAfter, quiet: true},
		{waited: tellAfter, want: 1},
		{waited: tellAfter + time.Second, passed: time.Second, want: 1},
		{waited: 2 * tellEvery, passed: tellEvery, want: 2},
		{waited: 0, passed: time.Hour, want: 2}, // another operation
	} {
		now = now.Add(tt.passed)
		a.Waiting.quiet = tt.quiet
		a.Waiting.Retry(tt.waited, err)
		if got := strings.Count(stderr.String(), "the store is silent"); got != tt.want {
			t.Errorf("%d lines after %v, want %d:\n%s", got, tt.waited, tt.want, &stderr)
		}
	}
}

// TestQuietSilencesWaiting checks that --quiet suppresses messages about retries in every command
// that has it.
func TestQuietSilencesWaiting(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want bool
	}{{nil, false}, {[]string{"-q"}, true}, {[]string{"--quiet"}, true}, {[]string{"--quiet=false"}, false}} {
		a := New(&Main{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}})
		var quiet, got bool
		app := &cli.App{Name: "paddlectl", Commands: []*cli.Command{a.NewCommand(Spec{
			Name: "work", Flags: []cli.Flag{QuietFlag(&quiet)},
			Run: func(context.Context, []string) error { got = a.Waiting.quiet; return nil },
		})}}
		if err := app.Run(append([]string{"paddlectl", "work"}, tt.args...)); err != nil {
			t.Fatal(err)
		}
		if got != tt.want {
			t.Errorf("with %q waiting is quiet: %v, want %v", tt.args, got, tt.want)
		}
	}
}
