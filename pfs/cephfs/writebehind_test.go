//go:build ceph

package cephfs

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestFlushTakesWhatWaits flushes while a full block waits for its turn to be written: the block is
// written, and its memory freed, once.
func TestFlushTakesWhatWaits(t *testing.T) {
	f := own(t)
	s, err := f.Create(t.Context(), "/f", pfs.CreateOptions{ID: pfs.NewID()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	b := s.(*staged).behind
	for range flightsEach {
		b.flights <- struct{}{}
	}
	data := pfstest.Pattern(1, blockSize)
	wrote := make(chan error, 1)
	go func() {
		_, err := s.WriteAt(t.Context(), data, 0)
		wrote <- err
	}()
	for waits := false; !waits; runtime.Gosched() {
		b.mu.Lock()
		waits = b.open[0] != nil && len(b.open[0].p) == blockSize
		b.mu.Unlock()
	}
	if err := b.flush(t.Context(), "cephfs.Test"); err != nil {
		t.Fatal(err)
	}
	for range flightsEach {
		<-b.flights
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	b.rest()
	if len(b.flights) != 0 {
		t.Error("the turn was not given back")
	}
	if left := b.w.fs.store.behind; left.TryAcquire(maxBehind) {
		left.Release(maxBehind)
	} else {
		t.Error("memory was not given back")
	}
	got := make([]byte, blockSize)
	if _, err := s.ReadAt(t.Context(), got, 0); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the file is not what was written: %v", err)
	}
}
