package transfer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
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
