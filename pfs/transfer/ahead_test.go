package transfer

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// slowTarget takes a second for a batch.
type slowTarget struct{ *vast }

func (s slowTarget) WriteBatch(ctx context.Context, entries []pfs.BatchEntry) []error {
	time.Sleep(time.Second)
	return s.vast.WriteBatch(ctx, entries)
}

// TestTotalsAreKnownSoon copies a tree that is much larger than the walk's lead over the copying.
func TestTotalsAreKnownSoon(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		want int64 // files that are known after 3 s
	}{
		{Options{Totals: true}, 100_000},
		{Options{Totals: true, Filter: []Rule{{Exclude: true, Pattern: "*7"}}}, 90_000},
		{Options{}, 0},
	} {
		t.Run(fmt.Sprintf("%+v", tt.o.Filter), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := &vast{dirs: 10, files: 10_000}, slowTarget{&vast{}}
				if tt.o.Filter != nil {
					a.dirs = 1
					a.files = 100_000
				}
				j, err := New(tt.o)
				must(t, err)
				done := make(chan error, 1)
				go func() { done <- j.Copy(t.Context(), End{a, "/"}, End{b, "/"}) }()
				time.Sleep(3*time.Second + time.Millisecond)
				s := j.Stats()
				if s.Complete != (tt.want > 0) || tt.want > 0 && s.Files != tt.want || s.Bytes != s.Files*int64(len(vastContent)) || s.FilesDone > 10_000 {
					t.Errorf("after 3 s: %+v", s)
				}
				must(t, <-done)
				if s := j.Stats(); !s.Complete || tt.want > 0 && s.Files != tt.want || s.FilesDone != s.Files {
					t.Errorf("at the end: %+v", s)
				}
			})
		})
	}
}
