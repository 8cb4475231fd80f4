package auth

import (
	"context"
	"sync"
	"testing"

	"github.com/paddlecloud/pfs/internal/fair"
	"github.com/paddlecloud/pfs/pfs"
)

// Under any load, two passwords are checked at a time, a bounded number waits, and the rest is
// refused.
func TestHasherBounds(t *testing.T) {
	h := newHasher()
	h.turns = fair.New(maxHashing)
	entered := make(chan struct{}, 1000)
	release := make(chan struct{})
	var wg sync.WaitGroup
	start := func() {
		wg.Go(func() {
			err := h.do(context.Background(), "test", func() {
				entered <- struct{}{}
				<-release
			})
			if err != nil {
				t.Errorf("do: %v", err)
			}
		})
	}
	for range maxHashing {
		start()
		<-entered
	}
	// Fill the queue directly, without waiting for goroutines.
	for range maxQueued {
		h.queue <- struct{}{}
	}
	wantKind(t, h.do(context.Background(), "test", func() { t.Error("ran beyond the queue") }), pfs.Limit)

	<-h.queue // one leaves the queue
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	wantKind(t, h.do(ctx, "test", func() { t.Error("ran out of turn") }), pfs.Canceled)

	start()
	close(release)
	wg.Wait()
}

func TestUnknownUserCostsTheSame(t *testing.T) {
	h := newHasher()
	d := h.model
	if d.memory != argonMemory || d.passes != argonPasses || d.lanes != argonLanes || len(d.key) != argonKeyLen {
		t.Errorf("an unknown user costs m=%d t=%d p=%d, a known one m=%d t=%d p=%d", d.memory, d.passes, d.lanes, argonMemory, argonPasses, argonLanes)
	}
	if ok, err := h.check(context.Background(), "test", "", "", "", ""); ok || err != nil {
		t.Errorf("check against no hash = %v, %v; want false", ok, err)
	}
}
