package transfer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// Job is one piece of work. It may be used once; Stats may be called at any time
// from any goroutine.
type Job struct {
	opts    Options
	filter  filter
	pool    *Pool
	limiter *rate.Limiter // nil: no limit
	slots   chan struct{} // one for each chunk in progress
	count   counters
	ahead   ahead
	sleep   func(context.Context, time.Duration) error

	budget      atomic.Pointer[retry.Budget]
	unreachable atomic.Int64 // files in a row that failed with Unavailable

	events sync.Mutex // held while Options.Events runs
	big    sync.Mutex // held while a big set of names is
}

// New prepares a job. It answers Invalid for a filter pattern that is malformed.
func New(opts Options) (*Job, error) {
	opts = opts.withDefaults()
	if err := opts.check(); err != nil {
		return nil, err
	}
	f, err := newFilter(opts.Filter)
	if err != nil {
		return nil, err
	}
	j := &Job{opts: opts, filter: f, pool: opts.Pool, sleep: retry.Sleep}
	j.budget.Store(retry.New(opts.Retry, nil))
	if opts.BytesPerSecond > 0 {
		burst := min(opts.BytesPerSecond, pfs.ChunkSize)
		j.limiter = rate.NewLimiter(rate.Limit(opts.BytesPerSecond), int(burst))
	}
	j.slots = make(chan struct{}, opts.Parallel)
	return j, nil
}

// Stats returns the current totals.
func (j *Job) Stats() Stats {
	s := j.count.stats()
	j.ahead.addTo(&s)
	return s
}

func (j *Job) emit(e Event) {
	if j.opts.Events == nil {
		return
	}
	j.events.Lock()
	defer j.events.Unlock()
	j.opts.Events(e)
}

// pay waits until n bytes of content may be moved.
func (j *Job) pay(ctx context.Context, n int) error {
	for j.limiter != nil && n > 0 {
		part := min(n, j.limiter.Burst())
		if err := j.limiter.WaitN(ctx, part); err != nil {
			// The limiter also refuses an operation that would end after ctx's deadline.
			return pfs.E("transfer.Job", "", pfs.Canceled, err)
		}
		n -= part
	}
	return nil
}

// slot waits for leave to have one more chunk in progress.
func (j *Job) slot(ctx context.Context) (release func(), err error) {
	select {
	case j.slots <- struct{}{}:
		return func() { <-j.slots }, nil
	case <-ctx.Done():
		return nil, pfs.CheckContext(ctx, "transfer.Job", "")
	}
}
