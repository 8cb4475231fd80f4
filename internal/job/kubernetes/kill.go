package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// poll is how often the engine looks while it waits for the end of something.
const poll = 500 * time.Millisecond

// Kill ends a job: its programs are asked to end, and upload their outputs. It returns when all its objects except its
// state are gone. When ctx ends earlier, the service completes the removal.
func (e *Engine) Kill(ctx context.Context, user, name string, tell func(*job.Record)) error {
	j, err := e.find(ctx, user, name)
	if err != nil {
		return err
	}
	if !j.State.Ended() {
		r, err := e.Job(ctx, user, name)
		if err != nil {
			return err
		}
		if j, err = e.change(ctx, j, func(j *entry) {
			if j.Kill = !j.State.Ended(); j.Kill && j.Attempt == r.Attempt {
				j.Workers, j.Started = r.Workers, r.Started // pods are soon gone
			}
		}); err != nil {
			return err
		}
	}
	var last string
	err = e.stop(ctx, j, func(s *seen) {
		r := judge(j, s)
		j.Workers, j.Started = r.Workers, r.Started
		if r.State == job.Killing {
			r.Reason = fmt.Sprintf("%d of %d processes are still ending", len(s.pods), len(r.Workers))
		}
		if text := asText(r); text != last {
			last = text
			tell(r)
		}
	})
	if err != nil {
		return err
	}
	if !j.State.Ended() {
		if j, err = e.finishWith(ctx, j, &seen{}, job.Killed, ""); err != nil {
			return err
		}
	}
	tell(&j.Record)
	return nil
}

// asText returns a record as text, by which records are compared.
func asText(r *job.Record) string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // a Record has only texts, numbers and times
	}
	return string(text)
}

// Delete removes the objects of a job that has ended.
func (e *Engine) Delete(ctx context.Context, user, name string) error {
	j, err := e.find(ctx, user, name)
	if err != nil {
		return err
	}
	if !j.State.Ended() {
		return pfs.Errorf("kubernetes.Delete", "", pfs.Conflict, "the job has not ended: \"paddlectl kill %s\" ends it", name)
	}
	return e.remove(ctx, j.ns(), j.name(), nil)
}

// stop ends the pods of a job and removes what makes them, and then its Secret and its Service. It returns when they are
// gone, and passes what is left to tell meanwhile.
func (e *Engine) stop(ctx context.Context, j *entry, tell func(*seen)) error {
	if err := e.stopPods(ctx, j.ns(), j.name(), tell); err != nil {
		return err
	}
	return e.removeShared(ctx, j.ns(), j.name())
}

// remove removes all objects of a job, its state last.
func (e *Engine) remove(ctx context.Context, ns, name string, tell func(*seen)) error {
	if err := e.stopPods(ctx, ns, name, tell); err != nil {
		return err
	}
	return e.removeRest(ctx, ns, name)
}

// removeRest removes what a job has besides its pods and what makes them.
func (e *Engine) removeRest(ctx context.Context, ns, name string) error {
	if err := e.removeShared(ctx, ns, name); err != nil {
		return err
	}
	return e.drop(ctx, func(ctx context.Context) error { return e.c.configMaps(ns).Delete(ctx, name, metav1.DeleteOptions{}) })
}

// stopPods removes the Jobs and StatefulSets of a job, and returns when their pods are gone, and what operators made for them.
func (e *Engine) stopPods(ctx context.Context, ns, name string, tell func(*seen)) error {
	for {
		found, err := e.look(ctx, ns, selectorOf(name))
		if err != nil {
			return err
		}
		s := found[key{ns, name}]
		if s == nil {
			if left, err := e.remains(ctx, ns, name); err != nil || !left {
				return err
			}
			s = &seen{}
		}
		if tell != nil {
			tell(s)
		}
		if err := e.stopAttempts(ctx, s, func(int) bool { return true }); err != nil {
			return err
		}
		if err := retry.Sleep(ctx, poll); err != nil {
			return pfs.Errorf("kubernetes.Kill", "", pfs.Canceled, "%d pods are still ending: %w", len(s.pods), err)
		}
	}
}

// stopAttempts removes the controllers of the pods of the attempts. The pods keep their grace period.
func (e *Engine) stopAttempts(ctx context.Context, s *seen, which func(attempt int) bool) error {
	opts := metav1.DeleteOptions{PropagationPolicy: ptr(metav1.DeletePropagationForeground)}
	for _, b := range s.jobs {
		if b.DeletionTimestamp == nil && which(attemptOf(b.ObjectMeta)) {
			if err := e.drop(ctx, func(ctx context.Context) error { return e.c.delete(ctx, &b, opts) }); err != nil {
				return err
			}
		}
	}
	for _, g := range s.groups {
		group := controller{ObjectMeta: metaOf(&g), resource: podGroups}
		if group.DeletionTimestamp == nil && which(attemptOf(group.ObjectMeta)) {
			if err := e.drop(ctx, func(ctx context.Context) error { return e.c.delete(ctx, &group, opts) }); err != nil {
				return err
			}
		}
	}
	for _, set := range s.sets {
		if set.DeletionTimestamp == nil && which(attemptOf(set.ObjectMeta)) {
			if err := e.drop(ctx, func(ctx context.Context) error { return e.c.statefulSets(set.Namespace).Delete(ctx, set.Name, opts) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeShared removes the Secret and the Service of a job.
func (e *Engine) removeShared(ctx context.Context, ns, name string) error {
	return errors.Join(
		e.drop(ctx, func(ctx context.Context) error { return e.c.services(ns).Delete(ctx, name, metav1.DeleteOptions{}) }),
		e.drop(ctx, func(ctx context.Context) error { return e.c.secrets(ns).Delete(ctx, name, metav1.DeleteOptions{}) }))
}

// drop deletes something, which may be gone already.
func (e *Engine) drop(ctx context.Context, do func(context.Context) error) error {
	_, err := retried(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) })
	return gone(err)
}

// finish makes a state final: first in the store, and then in the cluster.
func (e *Engine) finish(ctx context.Context, j *entry, state job.State, reason string) (*entry, error) {
	if j.State.Ended() {
		return j, nil
	}
	workers, started := j.Workers, j.Started
	end := func(j *entry) {
		if j.State.Ended() {
			return
		}
		j.Workers, j.Started = workers, started
		j.State, j.Reason, j.Ended = state, reason, time.Now().UTC().Truncate(time.Second)
		for i := range j.Workers {
			if w := &j.Workers[i]; !w.State.Ended() {
				w.State = state
			}
		}
	}
	end(j)
	if err := e.store(ctx, &j.Record); err != nil {
		return nil, err
	}
	return e.change(ctx, j, end)
}

// store writes a record to the store.
func (e *Engine) store(ctx context.Context, r *job.Record) error {
	fsys, err := e.Store(r.Spec.User)
	if err != nil {
		return err
	}
	return job.WriteRecord(ctx, fsys, r)
}

// empty reports whether a job has no pods, and nothing that makes some.
func (s *seen) empty() bool {
	return s == nil || len(s.jobs)+len(s.sets)+len(s.pods)+len(s.groups) == 0
}

// over reports whether all pods of an attempt have ended.
func (s *seen) over(attempt int) bool {
	return !slices.ContainsFunc(s.pods, func(p corev1.Pod) bool {
		return attemptOf(p.ObjectMeta) == attempt && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
	})
}

// jobOf returns the controller of an attempt, or nil. For a job of OpenPAI, which has one for each task role, it has the state
// of all; it is nil if one is missing.
func (s *seen) jobOf(spec *job.Spec, attempt int) *controller {
	all := map[string]*controller{}
	for i := range s.jobs {
		switch b := &s.jobs[i]; {
		case attemptOf(b.ObjectMeta) != attempt:
		case spec.PAI == nil:
			return b
		default:
			all[b.Labels[labelRole]] = b
		}
	}
	if len(all) == 0 {
		return nil
	}
	sum := controller{complete: true}
	for _, r := range spec.Roles {
		b := all[r.Name]
		switch {
		case b != nil && b.complete && r.MinSucceeded > 0:
			return &controller{complete: true} // whatever the others do
		case b == nil:
			sum.complete = false
		default:
			sum.complete = sum.complete && (b.complete || b.mixed)
			sum.failure = cmp.Or(sum.failure, b.failure)
		}
	}
	if len(all) < len(spec.Roles) && sum.failure == "" {
		return nil
	}
	return &sum
}

// open returns the objects to stop when an attempt is over. A Job that has ended keeps its pods, and so their logs; only the
// operator of a failed PaddleJob lets other pods run.
func (s *seen) open() *seen {
	left := *s
	left.jobs = slices.DeleteFunc(slices.Clone(s.jobs), func(b controller) bool {
		return b.complete || b.mixed || b.failure != "" && b.resource != paddleJobs
	})
	return &left
}
