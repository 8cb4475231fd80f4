//go:build linux

package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/output"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// attempt is one attempt of a job.
type attempt struct {
	*supervisor
	runs  []*run // the last of each worker
	old   []*run // those before restarts in place
	wake  chan struct{}
	done  bool // see over
	final bool // a failure ends the job, however many attempts are left

	stopping time.Time // when the ranks were asked to end
	killed   bool
	failure  string // why the attempt fails

	probed   time.Time
	obstacle string // why the files of the job cannot be written now
	noted    string // the last one
	pending  string // what uploads wait for
}

// probe notes in the reason of the job whether its files can be written. It reports whether that has changed.
func (a *attempt) probe() bool {
	if time.Since(a.probed) < probeEvery {
		return false
	}
	a.probed = time.Now()
	was, r := a.obstacle, &a.state.Record
	if a.obstacle = a.supervisor.obstacle(); a.obstacle == was {
		return false
	}
	a.noted = cmp.Or(a.obstacle, was)
	reason := strings.Replace(strings.Replace(r.Reason, was, "", 1), a.noted, "", 1)
	reason = strings.Trim(reason, "; ")
	if a.obstacle != "" {
		reason = strings.TrimSuffix(a.obstacle+"; "+reason, "; ")
	}
	r.Reason = reason
	return true
}

// tellUploads notes in the reason of the job what uploads wait for when all entries have ended. It reports whether that has changed.
func (a *attempt) tellUploads() bool {
	was, r := a.pending, &a.state.Record
	a.pending = ""
	if a.current() == job.Uploading {
		for _, run := range a.runs {
			if !run.done() {
				a.pending = run.worker.Name + ": " + run.pending()
				break
			}
		}
	}
	if a.pending == was {
		return false
	}
	r.Reason = strings.Trim(strings.Replace(r.Reason, was, "", 1), "; ")
	if !strings.Contains(r.Reason, a.pending) { // a supervisor that was killed has not told it
		r.Reason = strings.TrimPrefix(r.Reason+"; "+a.pending, "; ")
	}
	return true
}

// probeEvery is the time between two looks for a full disk.
const probeEvery = time.Second

// run carries the attempt out and returns how it ended. An error says that ctx has ended.
func (a *attempt) run(ctx context.Context) (job.State, string, error) {
	r := &a.state.Record
	a.wake = make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	uploads, endUploads := context.WithCancel(ctx)
	defer endUploads()
	for i := range r.Workers {
		w := &r.Workers[i]
		for restart := range w.Restarts {
			a.old = append(a.old, newRun(a, &job.Worker{Name: w.Name, Role: w.Role, Index: w.Index, Attempt: w.Attempt, Restarts: restart}))
		}
		a.runs = append(a.runs, newRun(a, w))
	}
	defer func() {
		cancel()
		for _, run := range append(a.runs, a.old...) {
			run.background.Wait()
		}
	}()
	for {
		for _, run := range a.old {
			run.look(uploads)
		}
		was := slices.Clone(r.Workers)
		for _, run := range a.runs {
			run.look(uploads)
		}
		// A supervisor before this one may have asked ranks to end: those that have ended by themselves tell why.
		a.judgeAll(false)
		a.control()
		a.judgeAll(true)
		for _, run := range a.runs {
			run.describe()
		}
		changed := !slices.Equal(was, r.Workers)
		changed = a.probe() || changed
		changed = a.tellUploads() || changed
		if state := a.current(); state != r.State || changed {
			if state == job.Running && r.Reason == "" {
				r.Reason = strings.Join(a.notes, "; ")
			}
			r.State = state
			a.save()
		}
		if a.closed() {
			break
		}
		select {
		case <-a.wake:
		case <-time.After(poll):
		case <-ctx.Done():
			return "", "", ctx.Err()
		}
	}
	return a.outcome(ctx)
}

// awake has the attempt look at its ranks at once.
func (a *attempt) awake() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// judgeAll judges the runs that have ended: by themselves, or because they were asked to.
func (a *attempt) judgeAll(stopped bool) {
	for i, run := range a.runs {
		if run.exit == nil || run.judged || run.exit.Stopped != stopped {
			continue
		}
		run.dismissed = run.dismissed || stopped && (a.over() || !a.stopping.IsZero())
		run.judged = true
		a.judge(i)
	}
}

// judge decides what the end of the run i means. A program that somebody else has asked to end has failed, also if it ended with 0.
func (a *attempt) judge(i int) {
	run := a.runs[i]
	if run.succeeded() || !a.stopping.IsZero() || run.dismissed {
		return
	}
	w := run.worker
	spec := &a.state.Record.Spec
	if spec.Restart == job.RestartRank && w.Restarts+1 < spec.MaxAttempts {
		a.log.Info("a rank is restarted", "worker", w.Name, "restart", w.Restarts+1, "reason", run.reason())
		a.old = append(a.old, run)
		before := *w
		run.worker = &before // its upload goes on
		*w = job.Worker{Name: w.Name, Role: w.Role, Index: w.Index, Attempt: w.Attempt, Restarts: w.Restarts + 1, State: job.Pending, Reason: run.reason()}
		a.runs[i] = newRun(a, w)
		return
	}
	role := roleOf(spec, w.Role)
	if failed := a.ended()[w.Role].Failed; role.Fails(failed) {
		reason := fmt.Sprintf("%s: %s", w.Name, run.reason())
		if failed > 1 {
			reason = fmt.Sprintf("%d processes of %s have failed, the last with: %s", failed, w.Role, reason)
		}
		a.fail(reason)
	}
}

// fail ends the attempt.
func (a *attempt) fail(reason string) {
	if a.failure == "" {
		a.failure = reason
	}
	if a.stopping.IsZero() {
		a.stopping = time.Now()
	}
}

// control ends ranks: all of them after a failure, a kill or the time limit, and those that are left, such as parameter
// servers, when the attempt is over.
func (a *attempt) control() {
	spec := &a.state.Record.Spec
	select {
	case <-a.supervisor.killed:
		a.killed = true
		a.fail("killed by the user")
	default:
	}
	if limit := spec.TimeLimit; limit > 0 && a.state.Boot == bootID() && uptime()-a.state.Began > limit && !a.over() {
		a.final = true
		a.fail(fmt.Sprintf("the time limit of %v is over", limit))
	}
	over := a.over()
	for _, run := range a.runs {
		if run.exit == nil && (!a.stopping.IsZero() || over) {
			run.dismissed = true
			run.stop(a.state.Grace)
		}
	}
}

// ended counts the processes that have ended and not because this engine has asked them to, by role.
func (a *attempt) ended() map[string]job.Tally {
	all := map[string]job.Tally{}
	for _, run := range a.runs {
		if !run.judged || run.dismissed {
			continue
		}
		t := all[run.worker.Role]
		if run.succeeded() {
			t.Succeeded++
		} else {
			t.Failed++
		}
		all[run.worker.Role] = t
	}
	return all
}

// over reports whether the programs of the attempt are done. Then it stays so.
func (a *attempt) over() bool {
	a.done = a.done || a.state.Record.Spec.Over(a.ended())
	return a.done
}

// current returns the state of the job while the attempt runs.
func (a *attempt) current() job.State {
	started, ended := true, true
	for _, run := range a.runs {
		started = started && run.worker.State != job.Pending
		ended = ended && run.exit != nil
	}
	switch {
	case a.killed:
		return job.Killing
	case ended:
		return job.Uploading
	case started || a.state.Record.State == job.Running:
		return job.Running
	}
	return job.Pending
}

// closed reports whether every process has ended and every uploader is done.
func (a *attempt) closed() bool {
	for _, run := range append(a.runs, a.old...) {
		if !run.done() {
			return false
		}
	}
	return true
}

// outcome returns how the attempt ended.
func (a *attempt) outcome(ctx context.Context) (job.State, string, error) {
	r := &a.state.Record
	for _, run := range a.runs {
		run.describe()
	}
	switch {
	case a.killed:
		return job.Killed, a.failure, nil
	case a.failure != "" && a.noted != "":
		return job.Failed, a.failure + "; meanwhile: " + a.noted, nil
	case a.failure != "":
		return job.Failed, a.failure, nil
	}
	var workers []string // whose outputs count
	for _, run := range a.runs {
		if run.dismissed || !run.succeeded() || r.Spec.Serves(run.worker.Role) {
			continue
		}
		workers = append(workers, run.worker.Name)
		if marker, missing := run.outputs(); marker != output.Success {
			// The training is done. Another attempt would repeat it.
			a.final = true
			return job.Failed, fmt.Sprintf("%s: its outputs are incomplete: %s; the files are in %s", run.worker.Name, missing, run.dir.Output()), nil
		}
	}
	attempts := job.Dir(r.Spec.Datacenter, r.Spec.User, r.Spec.Name).Join("attempts").Join(strconv.Itoa(r.Attempt))
	if err := output.CommitAttempt(retry.With(ctx, retry.New(retry.Default, nil)), a.opts.FS, attempts, workers); err != nil {
		if ctx.Err() != nil {
			return "", "", ctx.Err()
		}
		a.final = true
		return job.Failed, fmt.Sprintf("the marker of attempt %d could not be written: %v", r.Attempt, err), nil
	}
	return job.Succeeded, "", nil
}
