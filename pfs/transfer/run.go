package transfer

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	// queueLen is the length of the queues between the stages of a job.
	queueLen = 256

	// maxNames is how many directory entries the walkers hold in windows, all
	// together.
	maxNames = 32 << 10
)

// run is a running job over trees: walkers find items, comparers compare the digests of possibly
// equal files, the batcher collects small files, and copiers do the rest.
//
//	walkers ──┬─────────────┬──> small ──> batcher ──> batches
//	          └─> compare ──┤        (unlucky ones) │
//	                        ├──> large <────────────┘ ──> copiers
//	                        └──> inside ────────────────> copiers
type run struct {
	*trees // its mu guards roots and parent, too

	compare      chan []*item
	small, large chan *item
	inside       chan *item // copies within one file system

	pairs int64 // so far

	roots      []*directory
	noRoom     noRoom       // of items in no directory
	tight      atomic.Bool  // a file did not fit: large ones are now copied one at a time
	narrow     sync.RWMutex // held for writing by the copy of that one, and for reading by each one before
	parent     End          // a directory that was made above a target
	notDeleted bool
}

// Copy copies the file or tree source to target.
//
// If source is a file, or nothing at all could be done, the error is that of the single
// failure. If source is a tree that could not be copied completely, the error is an
// *Incomplete. An interrupted copy resumes when it is run again.
func (j *Job) Copy(ctx context.Context, source, target End) error {
	return j.CopyAll(ctx, func(yield func(Pair, error) bool) { yield(Pair{source, target}, nil) })
}

// CopyAll copies all pairs as one job, with small files of several pairs in common batches.
// An error from pairs counts as a failure, and the job continues.
func (j *Job) CopyAll(caller context.Context, pairs iter.Seq2[Pair, error]) error {
	j.spend(caller)
	ctx, cancel := context.WithCancelCause(caller)
	defer cancel(nil)
	r := &run{
		trees:   j.newTrees(ctx, cancel),
		compare: make(chan []*item, queueLen), small: make(chan *item, queueLen),
		large: make(chan *item, queueLen), inside: make(chan *item, queueLen),
	}
	r.copyAll(ctx, pairs)
	if j.opts.Delete {
		r.deleteExtras(ctx)
	}
	if err := caller.Err(); err != nil {
		return pfs.E("transfer.Copy", "", pfs.Canceled, err)
	}
	return r.result(context.Cause(ctx))
}

// copyAll runs the stages until everything is copied.
func (r *run) copyAll(ctx context.Context, pairs iter.Seq2[Pair, error]) {
	var walkers, comparers, batches, copiers sync.WaitGroup
	// More files than Options.Parallel are in progress, so that the chunks of one are copied while
	// another waits to be created or committed.
	for range 2 * r.j.opts.Parallel {
		comparers.Go(func() {
			for group := range r.compare {
				r.compareItems(ctx, group)
			}
		})
		copiers.Go(func() { r.each(ctx, r.large, r.copyItem) })
	}
	for range 4 * r.j.opts.Parallel {
		copiers.Go(func() { r.each(ctx, r.inside, r.copyItem) })
	}
	batches.Go(func() { r.batchSmall(ctx) })
	ahead, last, stop := r.j.countAhead(ctx)
	defer stop()
	for p, err := range pairs {
		if ctx.Err() != nil {
			break
		}
		r.pairs++
		if err != nil {
			r.fail(Event{Path: p.Source.Path, Target: p.Target.Path, Err: err})
			continue
		}
		ahead(p.Source)
		r.spread(&walkers, p.Source.Path, p.Target.Path, func() { r.walkPair(ctx, p, &walkers) })
	}
	last()
	walkers.Wait()
	stop()
	r.j.count.complete.Store(ctx.Err() == nil)
	close(r.compare)
	comparers.Wait()
	close(r.small)
	batches.Wait()
	close(r.large)
	close(r.inside)
	copiers.Wait()
}

// each calls do for the items of a queue until it is closed. After the end of the job
// it only releases them.
func (r *run) each(ctx context.Context, queue <-chan *item, do func(context.Context, *item)) {
	for it := range queue {
		if ctx.Err() == nil {
			r.guard(it.name, it.target.Path, func() { do(ctx, it) })
		} else {
			r.release(ctx, it)
		}
	}
}

// put hands an item to the next stage.
func (r *run) put(ctx context.Context, queue chan<- *item, it *item) {
	select {
	case queue <- it:
	case <-ctx.Done():
		r.release(ctx, it)
	}
}

// release ends an item.
func (r *run) release(ctx context.Context, it *item) {
	if it.dir != nil {
		it.dir.release(ctx)
	}
}

// result returns the error of the job. ended is the error that ended it early, or nil.
func (r *run) result(ended error) error {
	if ended != nil {
		return ended
	}
	stats := r.j.Stats()
	if stats.Failed+stats.Omitted == 0 {
		return nil
	}
	alone := len(r.roots) == 0 || stats.Failed == 1 && stats.FilesDone+stats.Skipped+stats.Omitted == 0
	if r.first != nil && r.pairs == 1 && alone {
		return r.first
	}
	return &Incomplete{Stats: stats, First: r.first, NotDeleted: r.notDeleted}
}

// failItem reports the failure of an item. A store may name the directory whose quota is
// used up: the event names the file.
func (r *run) failItem(it *item, err error) {
	err = bare(err)
	if kind := pfs.KindOf(err); isFull(kind) {
		r.noRoomFor(it).note(it, kind)
		if e, ok := err.(*pfs.Error); ok && it.target.Path.Within(e.Path) {
			err = pfs.E(e.Op, it.target.Path, kind, e.Err)
		}
	}
	r.fail(Event{Path: it.name, Target: it.target.Path, Size: it.info.Size, Err: err})
}

func (r *run) failDir(d *directory, err error) {
	r.fail(Event{Path: d.name, Target: d.target.Path, IsDir: true, Err: err})
}

// skipped reports an item that needs no copy.
func (r *run) skipped(it *item, why Reason) {
	r.j.count.skipped.Add(1)
	r.j.count.bytesSkipped.Add(it.info.Size)
	r.j.count.bytesDone.Add(it.info.Size)
	r.j.emit(Event{Kind: Skipped, Path: it.name, Target: it.target.Path, Size: it.info.Size, Bytes: it.info.Size, Reason: why})
}

// done reports an item that is whole at the target.
func (r *run) done(it *item, e Event) {
	r.j.reached()
	if it.dir != nil {
		it.dir.touched.Store(true)
	}
	r.j.count.filesDone.Add(1)
	e.Kind, e.Path, e.Target, e.Size, e.Bytes = Done, it.name, it.target.Path, it.info.Size, it.info.Size
	r.j.emit(e)
}
