package transfer

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// retry calls do until it succeeds or waiting cannot help. name is the path in Retry events and in
// the error of a panic of do.
func (j *Job) retry(ctx context.Context, name pfs.Path, do func(context.Context) error) error {
	op := retry.Op{Told: func(waited time.Duration, err error) { j.retried(name, waited, err) }}
	if err := pfs.CheckContext(ctx, "transfer.retry", name); err != nil {
		return err
	}
	return j.budgetOf(ctx).Do(ctx, op, func(ctx context.Context) error {
		return pfs.Guard("transfer.retry", name, func() error { return do(ctx) })
	})
}

// spend makes the job spend from the budget of ctx, if it carries one.
func (j *Job) spend(ctx context.Context) {
	if b := retry.From(ctx); b != nil {
		j.budget.Store(b)
	}
}

// budgetOf returns the budget of ctx, or that of the job.
func (j *Job) budgetOf(ctx context.Context) *retry.Budget {
	if b := retry.From(ctx); b != nil {
		return b
	}
	return j.budget.Load()
}

// reached notes that something was done, so that the failure of other operations does not end the job.
func (j *Job) reached() {
	j.budget.Load().Answered()
	j.unreachable.Store(0)
}

// maxUnreachable is the number of consecutive files that may fail because a store is unreachable.
// Then the job ends, whatever is left of its budget.
const maxUnreachable = 3

// hopeless reports whether err means that nothing can be reached, so that further files would fail, too.
func (j *Job) hopeless(err error) bool {
	return pfs.KindOf(err) == pfs.Unavailable && (j.unreachable.Add(1) >= maxUnreachable || j.budget.Load().Spent())
}

func (j *Job) retried(name pfs.Path, waited time.Duration, err error) {
	j.count.retries.Add(1)
	j.emit(Event{Kind: Retry, Path: name, Err: err, Waited: waited})
}
