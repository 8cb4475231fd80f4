package transfer

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 30 * time.Second

	// damageTries is how often one piece is moved again after it failed its check
	// on the way. Damage that stays is at one of the ends.
	damageTries = 3
)

// retry calls do until it succeeds or there is no point in trying further: after a
// temporary error with a pause, after Integrity at once and a few times only. name
// is what the Retry events are about, and an error that a panic of do was.
func (j *Job) retry(ctx context.Context, name pfs.Path, do func() error) error {
	return j.retryDamage(ctx, name, damageTries, do)
}

// retryTemporary is retry for what Integrity cannot be cured of by doing it again.
func (j *Job) retryTemporary(ctx context.Context, name pfs.Path, do func() error) error {
	return j.retryDamage(ctx, name, 0, do)
}

// retryDamage is retry with so many tries after Integrity. Of the time that the first try took,
// half of Options.Patience at most counts as spent: it may have been well for long before it failed.
func (j *Job) retryDamage(ctx context.Context, name pfs.Path, tries int, do func() error) error {
	damaged := 0
	var vain time.Time // since when it was tried in vain
	for try := 0; ; {
		began := time.Now()
		err := pfs.Guard("transfer.retry", name, do)
		if err == nil && try > 0 {
			j.reached()
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		took := min(time.Since(began), j.opts.Patience/2)
		if vain.IsZero() {
			vain = time.Now().Add(-took)
		}
		switch kind := pfs.KindOf(err); {
		case kind == pfs.Integrity && damaged < tries:
			damaged++
			j.retried(name, err)
		case kind.Temporary():
			waited := time.Since(vain)
			wait, ok := j.nextPause(try, waited+took/2)
			if !ok {
				j.gaveUp(kind, vain, waited+took/2)
				return err
			}
			j.count.retries.Add(1)
			j.emit(Event{Kind: Retry, Path: name, Err: err, Waited: waited})
			if j.sleep(ctx, wait) != nil {
				return err
			}
			try++
		default:
			return err
		}
	}
}

// nextPause returns how long to wait after try number try of an operation, of whose
// patience so much is spent, and whether to try again at all.
func (j *Job) nextPause(try int, spent time.Duration) (time.Duration, bool) {
	left := j.opts.Patience - spent
	switch {
	case try >= j.opts.Retries:
		return 0, false
	case j.opts.Patience == 0:
		return pause(try), true
	}
	return min(pause(try), left), left > 0
}

// reached notes that something was done, so that the failure of other operations does not end the job.
func (j *Job) reached() {
	j.answered.Store(time.Now().UnixNano())
	j.unreachable.Store(0)
}

// gaveUp notes that an operation has failed since a time, and has spent so much of its patience. If nothing
// else was done since then either, the job is lost: others need not wait as long once more.
func (j *Job) gaveUp(kind pfs.Kind, since time.Time, spent time.Duration) {
	if kind == pfs.Unavailable && j.opts.Patience > 0 && spent >= j.opts.Patience && j.answered.Load() < since.UnixNano() {
		j.lost.Store(true)
	}
}

// maxUnreachable is how many files in a row may fail because a store cannot be
// reached before the job is given up, whatever its patience.
const maxUnreachable = 3

// hopeless reports whether err means that nothing can be reached, so that further files would fail, too.
func (j *Job) hopeless(err error) bool {
	return pfs.KindOf(err) == pfs.Unavailable && (j.unreachable.Add(1) >= maxUnreachable || j.lost.Load())
}

func (j *Job) retried(name pfs.Path, err error) {
	j.count.retries.Add(1)
	j.emit(Event{Kind: Retry, Path: name, Err: err})
}

// pause returns how long to wait after try number try: half of a time that doubles, and a
// random part of the other half, so that many clients do not come back together. Of a file
// that is moved in several lanes the one whose pauses are shortest decides: they must not
// be next to nothing.
func pause(try int) time.Duration {
	most := maxPause
	if try < 10 {
		most = min(maxPause, firstPause<<try)
	}
	return most/2 + rand.N(most/2)
}

// sleep returns after d, or with ctx's error when it is done.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
