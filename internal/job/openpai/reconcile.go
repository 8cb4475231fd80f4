package openpai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
)

const (
	// interval is the time between two looks at all jobs. OpenPAI allows 60 lists a minute.
	interval = 10 * time.Second
	// poll is how often Kill looks whether a job has ended.
	poll = 2 * time.Second
	// submitTime is how long a submission may take before its job in OpenPAI is taken over.
	submitTime = 10 * time.Minute
	// maxSettled bounds the ended jobs that are remembered.
	maxSettled = 100_000
)

// Run reconciles all jobs until ctx is done: it writes records, begins attempts, and completes ended ones. Any number of replicas may
// run concurrently, because each step is idempotent.
func (e *Engine) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := e.pass(ctx); err != nil && ctx.Err() == nil {
			e.Log.Warn("jobs on OpenPAI wait for it", "datacenter", e.Datacenter, "err", err)
		}
		_ = retry.Sleep(ctx, interval)
	}
}

// pass reconciles every job once.
func (e *Engine) pass(ctx context.Context) error {
	list, err := e.c.list(ctx)
	if err != nil {
		return err
	}
	e.mu.Lock()
	if len(e.settled) > maxSettled {
		clear(e.settled)
	}
	e.mu.Unlock()
	for _, s := range list {
		user, name, ok := parseName(s.Name)
		e.mu.Lock()
		done := e.settled[s.Name]
		e.mu.Unlock()
		if !ok || done {
			continue
		}
		if err := e.step(ctx, user, name, s); err != nil && ctx.Err() == nil {
			e.Log.Warn("a job cannot go on", "user", user, "job", name, "err", err)
		}
	}
	return nil
}

// settle remembers that a job of OpenPAI needs nothing more.
func (e *Engine) settle(name string) {
	e.mu.Lock()
	e.settled[name] = true
	e.mu.Unlock()
}

// step reconciles one job.
func (e *Engine) step(ctx context.Context, user, name string, s summary) error {
	defer e.lock(user, name)()
	fsys, err := e.Store(user)
	var r *job.Record
	if err == nil {
		r, err = e.readRecord(ctx, fsys, user, name)
	}
	switch {
	case errors.Is(err, pfs.NotExist): // of another datacenter, or deleted
		if over(s.State) {
			e.settle(s.Name)
		}
		return nil
	case err != nil:
		return err
	case r.State == job.Submitting && time.Since(r.Submitted) < submitTime && nameOf(&r.Spec, 1) == s.Name:
		return nil // Submit is at work
	case r.State == job.Submitting && nameOf(&r.Spec, 1) == s.Name:
		r.Engine, r.State, r.Attempt = Name, job.Pending, 1
	case nameOf(&r.Spec, r.Attempt) != s.Name:
		if over(s.State) {
			e.settle(s.Name)
		}
		return nil
	case r.State.Ended():
		if err := e.clear(ctx, fsys, &r.Spec); err != nil {
			return err
		}
		e.settle(s.Name)
		return nil
	}
	return e.advance(ctx, fsys, r)
}

// advance updates the record of a job and takes the next step. The job is locked.
func (e *Engine) advance(ctx context.Context, fsys pfs.FileSystem, r *job.Record) error {
	before, name := asText(r), nameOf(&r.Spec, r.Attempt)
	killing := r.State == job.Killing
	d, err := e.c.get(ctx, name)
	switch {
	case errors.Is(err, pfs.NotExist):
		return e.end(ctx, fsys, r, job.Failed, gone(r))
	case err != nil:
		return err
	}
	judge(r, d)
	if !over(d.Status.State) {
		if killing && d.Status.State != stopping {
			if err := e.c.stop(ctx, name); err != nil {
				return err
			}
		}
		if asText(r) == before {
			return nil
		}
		return job.WriteRecord(ctx, fsys, r)
	}
	if err := e.abandon(ctx, fsys, r, d); err != nil {
		return err
	}
	switch {
	case killing:
		// Another replica may have begun the next attempt just before.
		switch _, err := e.c.get(ctx, nameOf(&r.Spec, r.Attempt+1)); {
		case err == nil:
			r.State, r.Attempt, r.Workers = job.Killing, r.Attempt+1, nil
			return job.WriteRecord(ctx, fsys, r)
		case !errors.Is(err, pfs.NotExist):
			return err
		}
		return e.end(ctx, fsys, r, job.Killed, "")
	case d.Status.State == stopped:
		return e.end(ctx, fsys, r, job.Killed, "somebody stopped it in OpenPAI")
	case d.Status.State == succeeded:
		err := e.Commit(ctx, fsys, &r.Spec, r.Attempt, succeededIn(r))
		if err == nil {
			return e.end(ctx, fsys, r, job.Succeeded, "")
		}
		if pfs.KindOf(err).Temporary() {
			return err // the store is away
		}
		return e.end(ctx, fsys, r, job.Failed, "the programs succeeded, and their outputs are not complete: "+short(err.Error()))
	}
	reason := failure(d, r.Workers)
	if r.Attempt >= r.Spec.MaxAttempts {
		return e.end(ctx, fsys, r, job.Failed, reason)
	}
	return e.next(ctx, fsys, r, reason)
}

// next begins the next attempt. The job of OpenPAI is created before the record tells of it, so that none is forgotten.
func (e *Engine) next(ctx context.Context, fsys pfs.FileSystem, r *job.Record, failed string) error {
	err := e.begin(ctx, fsys, &r.Spec, r.Attempt+1)
	switch {
	case err != nil && (pfs.KindOf(err).Temporary() || ctx.Err() != nil):
		return err
	case err != nil:
		return e.end(ctx, fsys, r, job.Failed, failed+"; and the next attempt was refused: "+short(err.Error()))
	}
	e.settle(nameOf(&r.Spec, r.Attempt))
	r.State, r.Reason = job.Pending, fmt.Sprintf("attempt %d of %d: the one before failed: %s", r.Attempt+1, r.Spec.MaxAttempts, failed)
	r.Attempt, r.Workers = r.Attempt+1, nil
	return job.WriteRecord(ctx, fsys, r)
}

// abandon writes the marker for incomplete outputs of workers without a marker, and takes the exit records from the store, because
// OpenPAI has only exit codes. No task runs any more.
func (e *Engine) abandon(ctx context.Context, fsys pfs.FileSystem, r *job.Record, d *detail) error {
	for i := range r.Workers {
		w := &r.Workers[i]
		err := e.Abandon(ctx, fsys, &r.Spec, w, "OpenPAI ended the task before its outputs were committed: "+failure(d, r.Workers[i:i+1]))
		var exit *job.Exit
		if err == nil {
			exit, err = e.Exit(ctx, fsys, &r.Spec, w)
		}
		switch {
		case err != nil && (pfs.KindOf(err).Temporary() || ctx.Err() != nil):
			return err
		case err != nil:
			e.Log.Warn("incomplete outputs get no marker", "user", r.Spec.User, "job", r.Spec.Name, "worker", w.Name, "err", err)
		case exit != nil:
			w.ExitCode, w.Signal, w.Reason, w.Started, w.Ended = &exit.Code, exit.Signal, exit.Reason, exit.Started, exit.Ended
		}
	}
	return nil
}

// end makes the state of a job final.
func (e *Engine) end(ctx context.Context, fsys pfs.FileSystem, r *job.Record, state job.State, reason string) error {
	r.State, r.Reason, r.Ended = state, reason, time.Now().UTC().Truncate(time.Second)
	for i := range r.Workers {
		if w := &r.Workers[i]; !w.State.Ended() {
			w.State = state
		}
	}
	if err := job.WriteRecord(ctx, fsys, r); err != nil {
		return err
	}
	return e.clear(ctx, fsys, &r.Spec)
}

// Kill ends a job. If ctx ends earlier, the service completes it.
func (e *Engine) Kill(ctx context.Context, user, name string, tell func(*job.Record)) error {
	last := ""
	for {
		r, err := e.killing(ctx, user, name)
		if err != nil {
			return err
		}
		if text := asText(r); text != last {
			last = text
			tell(r)
		}
		if r.State.Ended() {
			return nil
		}
		if err := retry.Sleep(ctx, poll); err != nil {
			return pfs.Errorf("openpai.Kill", "", pfs.Canceled, "OpenPAI is still ending its tasks: %w", err)
		}
	}
}

// killing notes that a job must end, unless it has ended, and takes the next step.
func (e *Engine) killing(ctx context.Context, user, name string) (*job.Record, error) {
	defer e.lock(user, name)()
	fsys, r, err := e.record(ctx, user, name)
	if err != nil || r.State.Ended() {
		return r, err
	}
	if r.State != job.Killing {
		r.State, r.Reason = job.Killing, "OpenPAI ends its tasks"
		if err := job.WriteRecord(ctx, fsys, r); err != nil {
			return nil, err
		}
	}
	return r, e.advance(ctx, fsys, r)
}

// asText returns a record as text, by which records are compared.
func asText(r *job.Record) string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // a Record has only texts, numbers and times
	}
	return string(text)
}
