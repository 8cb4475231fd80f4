package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// TestWaitingIsTold checks that a store that is silent is named, and not too often.
func TestWaitingIsTold(t *testing.T) {
	var stderr bytes.Buffer
	d := newDeps(&Main{Stdout: &bytes.Buffer{}, Stderr: &stderr})
	now := time.Now()
	d.now = func() time.Time { return now }
	err := pfs.Errorf("test", home+"/f", pfs.Unavailable, "the store is silent")
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
		d.waiting.quiet = tt.quiet
		d.waiting.retry(tt.waited, err)
		if got := strings.Count(stderr.String(), "the store is silent"); got != tt.want {
			t.Errorf("%d lines after %v, want %d:\n%s", got, tt.waited, tt.want, &stderr)
		}
	}
}
