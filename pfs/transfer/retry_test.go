package transfer

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestOneBudgetForAJob checks that a job whose store goes down ends after the time of its budget,
// at any step, and counts the files that it did not try.
func TestOneBudgetForAJob(t *testing.T) {
	const files, patience = 2000, time.Minute
	for _, tt := range []struct {
		name  string
		opts  Options
		there bool // the target has the files
		ops   int  // that are done before the store goes away
		slow  bool // then each takes a minute, as the client waits for an answer
	}{
		{"copy, never there", Options{}, false, 0, false},
		{"copy, listed", Options{}, false, 3, false},
		{"copy, in the middle", Options{}, false, 20, false},
		{"compare, never there", Options{}, true, 0, false},
		{"verify, never there", Options{Algorithm: "xxh3"}, true, 0, false},
		{"verify, in the middle", Options{Algorithm: "xxh3"}, true, 500, false},
		{"copy, silent", Options{}, false, 0, true},
		{"verify, silent", Options{Algorithm: "xxh3"}, true, 500, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := newFaulty(t), &digesting{faulty: newFaulty(t)}
				plant(t, a, "/s/")
				plant(t, b.faulty, "/d/")
				for i := range files {
					put(t, a.FS, pfs.Path(fmt.Sprintf("/s/f%d", i)), []byte(fmt.Sprint(i)))
					if tt.there {
						put(t, b.FS, pfs.Path(fmt.Sprintf("/d/f%d", i)), []byte(fmt.Sprint(i)))
					}
				}
				var ops atomic.Int64
				var away atomic.Pointer[time.Time]
				b.before = func(op string, name pfs.Path) error {
					if ops.Add(1) <= int64(tt.ops) {
						return nil
					}
					now := time.Now()
					away.CompareAndSwap(nil, &now)
					if tt.slow {
						time.Sleep(time.Minute)
					}
					return pfs.E("test", name, pfs.Unavailable, nil)
				}
				opts := tt.opts
				opts.Retry.Total = patience
				j, err := New(opts)
				must(t, err)
				if tt.opts.Algorithm == "" {
					err = j.Copy(t.Context(), End{a, "/s"}, End{b, "/d"})
				} else {
					err = j.Verify(t.Context(), End{a, "/s"}, End{b, "/d"})
				}
				checkKind(t, err, pfs.Unavailable)
				want := patience
				if tt.slow {
					want = 2 * time.Minute
				}
				if took := time.Since(*away.Load()); (took - want).Abs() > 6*time.Second {
					t.Errorf("it took %v, want %v", took, want)
				}
				s := j.Stats()
				if s.Failed > 2*maxUnreachable || s.Files > s.FilesDone+s.Skipped+s.Failed+s.Left() || tt.ops > 0 && s.Left() == 0 {
					t.Errorf("got %+v, %d left", s, s.Left())
				}
			})
		})
	}
}

// TestOneBadFileEndsNoJob checks that a file with an unreachable path fails alone while others are
// copied.
func TestOneBadFileEndsNoJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newFaulty(t), newFaulty(t)
		for i := range 100 {
			put(t, a.FS, pfs.Path(fmt.Sprintf("/s/f%02d", i)), make([]byte, maxSmall+1))
		}
		a.before = func(op string, name pfs.Path) error {
			if op == "open" && name == "/s/f05" {
				return pfs.E("test", name, pfs.Unavailable, nil)
			}
			if op == "open" {
				time.Sleep(10 * time.Second)
			}
			return nil
		}
		j, err := New(Options{})
		must(t, err)
		err = j.Copy(t.Context(), End{a, "/s"}, End{b, "/d"})
		if s := j.Stats(); s.FilesDone != 99 || s.Failed != 1 {
			t.Errorf("got %v, %+v", err, s)
		}
	})
}

// digesting has its faults in Digest, too.
type digesting struct{ *faulty }

func (d *digesting) Digest(ctx context.Context, name pfs.Path, algorithm string, progress func(int64)) (string, error) {
	if err := d.hook("digest", name); err != nil {
		return "", err
	}
	return d.FS.Digest(ctx, name, algorithm, progress)
}

// TestUnreachableIsToldAFewTimes checks that a store that is down ends the job, without a failure
// for each file of the batches in transit.
func TestUnreachableIsToldAFewTimes(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	for i := range 2000 {
		put(t, a.FS, pfs.Path(fmt.Sprintf("/s/f%d", i)), []byte(fmt.Sprint(i)))
	}
	b.before = func(op string, name pfs.Path) error {
		if op == "batch" {
			return pfs.E("test", name, pfs.Unavailable, nil)
		}
		return nil
	}
	rec := &recorder{t: t}
	j := newJob(t, Options{Events: rec.record})
	pfstest.WantKind(t, j.Copy(t.Context(), End{a, "/s"}, End{b, "/d"}), pfs.Unavailable)
	if n := len(rec.of(Failed)); n > 2*maxUnreachable || int64(n) != j.Stats().Failed {
		t.Errorf("%d failures are told, and %d counted", n, j.Stats().Failed)
	}
}

// endingAt is a context that ends when Err is called for the nth time.
type endingAt struct {
	context.Context
	n atomic.Int64
}

func (c *endingAt) Err() error {
	if c.n.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestEndedBatchHasAnError ends a job at every step of a batch: no file fails without an error.
func TestEndedBatchHasAnError(t *testing.T) {
	for n := range int64(10) {
		a, b := newFaulty(t), newFaulty(t)
		put(t, a.FS, "/f", []byte("content"))
		j := newJob(t, Options{Events: func(e Event) {
			if e.Kind == Failed && e.Err == nil {
				t.Errorf("%d: %s fails without an error", n, e.Path)
			}
		}})
		ctx := &endingAt{Context: t.Context()}
		ctx.n.Store(n)
		r := &run{trees: j.newTrees(ctx, func(error) {})}
		s := &slot{it: &item{source: End{a, "/f"}, target: End{b, "/f"}, name: "/f"}, entry: pfs.BatchEntry{Path: "/f", Mode: 0o600}}
		r.writeBatch(ctx, &batch{from: a, to: b, buf: []byte{}}, []*slot{s})
	}
}
