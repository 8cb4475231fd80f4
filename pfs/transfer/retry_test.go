package transfer

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestPatience bounds the time for which an operation on a silent store is tried again.
func TestPatience(t *testing.T) {
	const timeout, patience = 3 * time.Second, 30 * time.Second
	for _, tt := range []struct {
		patience    time.Duration
		least, most time.Duration
	}{
		{0, 100 * timeout, 100 * (timeout + maxPause)},
		{patience, patience - timeout, patience + timeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			var waited time.Duration
			j, err := New(Options{Retries: 99, Patience: tt.patience, Events: func(e Event) {
				if e.Waited < waited {
					t.Errorf("waited for %v, then for %v", waited, e.Waited)
				}
				waited = e.Waited
			}})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			err = j.retry(context.Background(), "/f", func() error {
				time.Sleep(timeout)
				return pfs.E("test", "/f", pfs.Unavailable, nil)
			})
			checkKind(t, err, pfs.Unavailable)
			if took := time.Since(began); took < tt.least || took > tt.most {
				t.Errorf("patience %v: it took %v, want %v to %v", tt.patience, took, tt.least, tt.most)
			}
			if waited == 0 {
				t.Error("nobody was told of the waiting")
			}
		})
	}
}

// TestRetriesBridge bridges at least as long as a store may be away for a restart, by the
// tries that the commands make if nothing else is said, whichever lane is the first to end.
func TestRetriesBridge(t *testing.T) {
	const retries, least, most = 10, 40 * time.Second, 82 * time.Second
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			j, err := New(Options{Retries: retries})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			err = j.retry(context.Background(), "/f", func() error { return pfs.E("test", "/f", pfs.Unavailable, nil) })
			checkKind(t, err, pfs.Unavailable)
			if took := time.Since(began); took < least || took > most {
				t.Errorf("%d retries bridge %v, want %v to %v", retries, took, least, most)
			}
		})
	}
}

// TestUnreachableIsToldAFewTimes: a store that is away ends the job, and not each file of the
// batches that were on their way is a failure of its own.
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
