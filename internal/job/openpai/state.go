package openpai

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/internal/job"
)

// The states of jobs and tasks in OpenPAI.
const (
	waiting   = "WAITING"
	running   = "RUNNING"
	stopping  = "STOPPING"
	succeeded = "SUCCEEDED"
	failed    = "FAILED"
	stopped   = "STOPPED"
)

// over reports whether a state is final.
func over(state string) bool { return state == succeeded || state == failed || state == stopped }

// taskStates are the states of workers by those of tasks.
var taskStates = map[string]job.State{
	waiting: job.Pending, running: job.Running, stopping: job.Killing, succeeded: job.Succeeded, failed: job.Failed, stopped: job.Killed,
}

// judge brings a record that has not ended up to date.
func judge(r *job.Record, d *detail) {
	r.Workers = workers(r, d)
	history, _, _ := strings.Cut(r.Reason, nowMark) // of the attempt before: see next
	begun := 0
	for _, w := range r.Workers {
		if w.State != job.Pending {
			begun++
		}
		if !w.Started.IsZero() && (r.Started.IsZero() || w.Started.Before(r.Started)) {
			r.Started = w.Started
		}
	}
	switch {
	case r.State == job.Killing:
		r.Reason = "OpenPAI ends its tasks"
	case d.Status.State == stopping:
		r.State, r.Reason = job.Killing, "somebody has stopped it in OpenPAI"
	case over(d.Status.State):
		r.State, r.Reason = job.Uploading, "OpenPAI has ended it, and its outputs are being checked"
	case begun == 0:
		r.State, r.Reason = job.Pending, "OpenPAI: "+strings.ToLower(d.Status.State)
		if d.Status.SubState != "" {
			r.Reason += " (" + d.Status.SubState + ")"
		}
	case begun < len(r.Workers):
		r.State, r.Reason = job.Running, fmt.Sprintf("%d of %d tasks wait in OpenPAI", len(r.Workers)-begun, len(r.Workers))
	default:
		r.State, r.Reason = job.Running, ""
	}
	if r.Attempt > 1 && strings.HasPrefix(history, "attempt ") {
		r.Reason = strings.TrimSuffix(history+nowMark+r.Reason, nowMark)
	}
}

// nowMark is between the reasons for an attempt and for its state.
const nowMark = "; now: "

// workers returns all workers of the present attempt.
func workers(r *job.Record, d *detail) (list []job.Worker) {
	for _, role := range r.Spec.Roles {
		tasks := map[int]*task{}
		of := d.tasks(role.Name)
		for i, t := range of {
			tasks[t.Index] = &of[i]
		}
		for i := range role.Replicas {
			w := job.Worker{Name: job.WorkerName(role.Name, i), Role: role.Name, Index: i, Attempt: r.Attempt, State: job.Pending}
			if n := slices.IndexFunc(r.Workers, func(o job.Worker) bool { return o.Name == w.Name && o.Attempt == w.Attempt }); n >= 0 {
				w = r.Workers[n]
			}
			if t := tasks[i]; t != nil {
				describe(&w, t, &d.Status)
			}
			list = append(list, w)
		}
	}
	return list
}

// succeededIn returns the workers whose outputs count.
func succeededIn(r *job.Record) (names []string) {
	for _, w := range r.Workers {
		// A task of a job file of OpenPAI may fail, or be ended because others have succeeded.
		tolerated := r.Spec.PAI != nil && (w.ExitCode == nil || *w.ExitCode != 0 || w.Outputs == "_FAILED")
		if !r.Spec.Serves(w.Role) && !tolerated {
			names = append(names, w.Name)
		}
	}
	return names
}

// describe fills in the state of a worker from its task.
func describe(w *job.Worker, t *task, s *status) {
	w.State = cmp.Or(taskStates[t.State], job.Pending)
	if w.State != job.Pending && w.Started.IsZero() {
		w.Started = cmp.Or(t.Launched.Time, s.Launched.Time)
	}
	if !w.State.Ended() {
		return
	}
	w.Ended = cmp.Or(t.Ended.Time, s.Completed.Time)
	if w.ExitCode = t.ExitCode; t.ExitCode != nil && *t.ExitCode != 0 {
		w.Reason = fmt.Sprintf("exit code %d", *t.ExitCode)
	}
}

// failure explains the failure of an attempt.
func failure(d *detail, list []job.Worker) string {
	first := -1
	for i, w := range list {
		trigger := d.Status.TriggerIndex != nil && w.Role == d.Status.TriggerRole && w.Index == *d.Status.TriggerIndex
		if trigger {
			first = i
			break
		}
		if w.State == job.Failed && (first < 0 || w.Ended.Before(list[first].Ended)) {
			first = i
		}
	}
	var parts []string
	if first >= 0 {
		parts = append(parts, list[first].Name+": "+cmp.Or(list[first].Reason, "it failed"))
	}
	for _, v := range []any{d.Status.ExitSpec.Phrase, d.Status.TriggerText, d.Status.Diagnostics} {
		if text, ok := v.(string); ok && strings.TrimSpace(text) != "" {
			parts = append(parts, "OpenPAI says: "+short(text))
			break
		}
	}
	return cmp.Or(strings.Join(parts, "; "), "OpenPAI gives no reason")
}

// short returns a text in one line of bounded length.
func short(text string) string { return fmt.Sprintf("%.500s", strings.Join(strings.Fields(text), " ")) }
