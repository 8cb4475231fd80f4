package transfer

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/paddlecloud/pfs/pfs"
)

// trees is the work of a job on trees: its bounds, its failures and its end.
type trees struct {
	j      *Job
	cancel context.CancelCauseFunc
	ended  func() bool // the job's context is done

	walkers *semaphore.Weighted // beyond the first of each pair
	names   *semaphore.Weighted // entries in windows
	besides *semaphore.Weighted // entries in tables

	mu    sync.Mutex
	first error // the first failure
}

// newTrees begins work that ends with ctx, which cancel ends.
func (j *Job) newTrees(ctx context.Context, cancel context.CancelCauseFunc) *trees {
	return &trees{
		j: j, cancel: cancel, ended: func() bool { return ctx.Err() != nil },
		walkers: semaphore.NewWeighted(int64(j.opts.Parallel)),
		names:   semaphore.NewWeighted(maxNames),
		besides: semaphore.NewWeighted(maxBesides),
	}
}

// guard runs do, the work on one file or directory. A panic counts as its failure.
func (w *trees) guard(name, target pfs.Path, do func()) {
	err := pfs.Guard("transfer.Copy", name, func() error {
		do()
		return nil
	})
	if err != nil {
		w.fail(Event{Path: name, Target: target, Err: err})
	}
}

// fail reports a failure, and ends the job if further files would fail in the same way.
// Failures that follow from the end of the job are not reported.
func (w *trees) fail(e Event) {
	err := bare(e.Err)
	kind := pfs.KindOf(err)
	if (kind == pfs.Canceled || kind == pfs.Unavailable) && w.ended() {
		return
	}
	e.Kind, e.Err = Failed, err
	w.mu.Lock()
	if w.first == nil {
		w.first = err
	}
	w.mu.Unlock()
	w.j.count.failed.Add(1)
	w.j.emit(e)
	switch {
	case kind == pfs.Unauthenticated, w.j.hopeless(err):
		w.cancel(err)
	}
}

// omitted reports an entry that is left out.
func (w *trees) omitted(name, target pfs.Path, why Reason) {
	w.j.count.omitted.Add(1)
	w.j.emit(Event{Kind: Skipped, Path: name, Target: target, Reason: why})
}
