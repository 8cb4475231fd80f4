package main

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// trial is one test, with its progress.
type trial struct {
	mu   sync.Mutex
	step string
}

// doing records the current step.
func (t *trial) doing(step string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.step = step
}

// late is the error of a trial that did not end in time.
func (t *trial) late(ctx context.Context, limit time.Duration) error {
	const op = "pfsd.check"
	t.mu.Lock()
	defer t.mu.Unlock()
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return pfs.E(op, "", pfs.Canceled, ctx.Err())
	}
	return pfs.Errorf(op, "", pfs.Unavailable, "no answer within %v while %s", limit, cmp.Or(t.step, "reading files"))
}

// fail adds the step to an error of a store.
func (t *trial) fail(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return pfs.Errorf("pfsd.probeStore", "", pfs.KindOf(err), "%s: %w", t.step, cause(err))
}
