package output

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// TestLogsMissed: log files that were found, and removed before the store had all of them, are missed.
func TestLogsMissed(t *testing.T) {
	for name, c := range map[string]struct {
		away  bool // the store, in the first pass
		found int  // files that the first pass finds; of the last one, which grows, the store gets nothing
		lost  int
	}{"away": {true, 3, 2}, "growing": {false, 1, 1}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			fault := func() error {
				if c.away {
					return pfs.Errorf("test", "", pfs.Unavailable, "away")
				}
				return nil
			}
			u := &uploader{opts: r.opts, id: pfs.NewID()}
			u.opts.FS, u.opts.Pool = away(r.opts.FS, fault), transfer.NewPool(DefaultMemory)
			s := &logShipper{u: u, sent: map[string]int64{}, most: maxLogs, last: time.Now(), made: true}
			if err := pfs.MkdirAll(t.Context(), r.opts.FS, logs, 0o755); err != nil {
				t.Fatal(err)
			}
			write := func(n int) string {
				file := filepath.Join(r.opts.Rank.Logs(), job.LogName(n))
				if err := os.WriteFile(file, []byte("0123456789\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				return file
			}
			for n := 1; n <= c.found; n++ {
				write(n)
			}
			if err := s.pass(budgeted(t.Context(), retry.Never), false); (err != nil) != c.away {
				t.Fatalf("%v", err)
			}
			for n := 1; n <= c.lost; n++ {
				if err := os.Remove(write(n)); err != nil {
					t.Fatal(err)
				}
			}
			write(c.found + 1)
			c.away = false
			if err := s.pass(budgeted(t.Context(), retry.Never), true); err != nil || s.lost != c.lost {
				t.Errorf("%d files are missed, want %d; %v", s.lost, c.lost, err)
			}
			if err := s.pass(budgeted(t.Context(), retry.Never), true); err != nil || s.lost != c.lost {
				t.Errorf("again: %d files are missed, want %d; %v", s.lost, c.lost, err)
			}
		})
	}
}

// TestLogsOfAnother: an uploader that finds the run taken leaves the logs of the other one as they are.
func TestLogsOfAnother(t *testing.T) {
	r := newRig(t)
	u := &uploader{opts: r.opts, id: pfs.NewID()}
	if _, err := u.claim(budgeted(t.Context(), retry.Never)); err != nil {
		t.Fatal(err)
	}
	name := logs.Join(job.LogName(1))
	if err := pfs.MkdirAll(t.Context(), r.opts.FS, logs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := writeRecord(budgeted(t.Context(), retry.Never), r.opts.FS, name, "the log of the first uploader", false); err != nil {
		t.Fatal(err)
	}
	before, err := r.opts.FS.Stat(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.opts.Rank.Logs(), job.LogName(1)), []byte("another\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.exit(job.Exit{})
	store := r.opts.FS
	r.opts.FS = pfs.NewLayer(func(_ context.Context, a pfs.Access, at pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if at.Base() == uploading {
			time.Sleep(time.Second) // the store is slow
		}
		return call(store, at)
	})
	if _, err := Upload(t.Context(), r.opts); !errors.Is(err, ErrTaken) {
		t.Errorf("%v", err)
	}
	if after, err := r.opts.FS.Stat(t.Context(), name); err != nil || after.ID != before.ID || after.Size != before.Size {
		t.Errorf("%+v, %v; it was %+v", after, err, before)
	}
}
