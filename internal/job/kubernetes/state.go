package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// key names a job in the cluster.
type key struct{ ns, name string }

// seen has the objects of a job in the cluster.
type seen struct {
	jobs   []controller
	sets   []appsv1.StatefulSet
	pods   []corev1.Pod
	groups []unstructured.Unstructured // PodGroups of Volcano
	notes  []corev1.Event              // warnings, read only where something is pending
	closed string                      // likewise: why the queue of Volcano starts nothing
}

// look reads the objects of all jobs that the selector selects. The number of requests does not grow with
// the number of jobs.
func (e *Engine) look(ctx context.Context, ns, selector string) (map[key]*seen, error) {
	opts := metav1.ListOptions{LabelSelector: selector}
	found := map[key]*seen{}
	of := func(o metav1.ObjectMeta) *seen {
		k := key{o.Namespace, o.Labels[labelJob]}
		if found[k] == nil {
			found[k] = &seen{}
		}
		return found[k]
	}
	jobs, err := all(ctx, opts, e.c.jobs(ns).List, func(l *batchv1.JobList) []batchv1.Job { return l.Items })
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		s := of(j.ObjectMeta)
		s.jobs = append(s.jobs, jobController(j))
	}
	sets, err := all(ctx, opts, e.c.statefulSets(ns).List, func(l *appsv1.StatefulSetList) []appsv1.StatefulSet { return l.Items })
	if err != nil {
		return nil, err
	}
	for _, set := range sets {
		s := of(set.ObjectMeta)
		s.sets = append(s.sets, set)
	}
	pods, err := all(ctx, opts, e.c.pods(ns).List, func(l *corev1.PodList) []corev1.Pod { return l.Items })
	if err != nil {
		return nil, err
	}
	for _, p := range pods {
		s := of(p.ObjectMeta)
		s.pods = append(s.pods, p)
	}
	for _, r := range e.Config.operatorResources() {
		list, err := all(ctx, opts, e.c.dynamic.Resource(r).Namespace(ns).List, func(l *unstructured.UnstructuredList) []unstructured.Unstructured { return l.Items })
		if gone(err) != nil {
			return nil, err
		}
		for i := range list {
			s := of(metaOf(&list[i]))
			if r == podGroups {
				s.groups = append(s.groups, list[i])
			} else {
				s.jobs = append(s.jobs, operatorController(r, &list[i]))
			}
		}
	}
	return found, nil
}

// record returns the state of a job.
func (e *Engine) record(ctx context.Context, j *entry, s *seen) (*job.Record, error) {
	if s == nil {
		s = &seen{}
	}
	r := judge(j, s)
	if r.State == job.Pending {
		notes, err := e.warnings(ctx, j)
		if err == nil && gang(&j.Spec) {
			s.closed, err = e.closedQueue(ctx, &j.Spec)
		}
		if err != nil {
			return nil, err
		}
		s.notes = notes
		r = judge(j, s)
	}
	return r, nil
}

// maxWarnings is how many events of a namespace one request reads.
const maxWarnings = 200

// warnings returns the warnings about objects of the present attempt, the latest last.
func (e *Engine) warnings(ctx context.Context, j *entry) ([]corev1.Event, error) {
	list, err := retried(ctx, func(ctx context.Context) (*corev1.EventList, error) {
		return e.c.events(j.ns()).List(ctx, metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning, Limit: maxWarnings})
	})
	if err != nil {
		return nil, err
	}
	var own []corev1.Event
	attempt := fmt.Sprintf("%s-%d", j.name(), j.Attempt)
	for _, n := range list.Items {
		if isOf(n.InvolvedObject.Name, attempt) {
			own = append(own, n)
		}
	}
	slices.SortFunc(own, func(a, b corev1.Event) int { return whenOf(a).Compare(whenOf(b)) })
	return own, nil
}

func whenOf(n corev1.Event) time.Time {
	if n.LastTimestamp.IsZero() {
		return n.EventTime.Time
	}
	return n.LastTimestamp.Time
}

// isOf reports whether an object's name begins with that of another one.
func isOf(name, of string) bool {
	return len(name) > len(of) && name[:len(of)] == of && name[len(of)] == '-'
}

// judge makes the record of a job from its objects.
func judge(j *entry, s *seen) *job.Record {
	r := j.Record
	r.Engine = engineOf(&j.Spec)
	if r.State.Ended() {
		return &r
	}
	r.Workers = workers(j, s)
	trainers, running, over := 0, 0, 0
	for _, w := range r.Workers {
		if j.Spec.Serves(w.Role) {
			continue
		}
		trainers++
		switch {
		case w.State == job.Running:
			running++
		case w.State.Ended() || w.State == job.Uploading:
			over++
		}
		if !w.Started.IsZero() && (r.Started.IsZero() || w.Started.Before(r.Started)) {
			r.Started = w.Started
		}
	}
	r.State, r.Reason = job.Pending, ""
	switch {
	case j.Kill:
		r.State, r.Reason = job.Killing, "its processes end and upload their outputs"
	case j.FailedN == j.Attempt:
		r.State, r.Reason = job.Running, fmt.Sprintf("attempt %d of %d failed: %s; its processes end and upload their outputs", j.Attempt, j.Spec.MaxAttempts, j.Failed)
	case over == trainers || j.SucceededN == j.Attempt:
		r.State, r.Reason = job.Uploading, "upload pending: the outputs are being committed"
	case running+over > 0:
		r.State = job.Running
	}
	if r.State == job.Pending || r.State == job.Running && r.Reason == "" {
		r.Reason = pending(j, r.Workers, s)
	}
	if r.Reason == "" && r.State == job.Running && j.FailedN > 0 {
		r.Reason = fmt.Sprintf("attempt %d of %d: the one before failed: %s", r.Attempt, j.Spec.MaxAttempts, j.Failed)
	}
	return &r
}

// pending explains what the first rank that has not started waits for.
func pending(j *entry, list []job.Worker, s *seen) string {
	waiting, first := 0, ""
	for _, w := range list {
		if w.State == job.Pending {
			waiting++
			if first == "" && w.Reason != "" {
				first = w.Name + ": " + w.Reason
			}
		}
	}
	if waiting == 0 {
		return ""
	}
	if group := s.groupReason(operatorName(&j.Spec, j.Attempt)); group != "" && waiting == len(list) {
		first = group
	}
	if first == "" && j.TakenN == j.Attempt {
		first = j.Taken
	}
	if first == "" {
		first = cmp.Or(noteReason(s.notes), "its pods are being made")
	}
	if waiting < len(list) {
		return fmt.Sprintf("%d of %d processes wait for peers; %s", len(list)-waiting, len(list), first)
	}
	return first
}

// workers returns all ranks of the present attempt.
func workers(j *entry, s *seen) []job.Worker {
	var list []job.Worker
	for _, role := range j.Spec.Roles {
		for i := range role.Replicas {
			w := job.Worker{Name: job.WorkerName(role.Name, i), Role: role.Name, Index: i, Attempt: j.Attempt, State: job.Pending}
			if p := podOf(s.pods, role.Name, j.Attempt, i); p != nil {
				describe(&w, p, s.notes)
			} else if n := slices.IndexFunc(j.Workers, func(o job.Worker) bool { return o.Name == w.Name && o.Attempt == w.Attempt }); n >= 0 {
				w = j.Workers[n] // as it was before its pod went
			}
			list = append(list, w)
		}
	}
	return list
}

// podOf returns the latest pod of a rank, or nil.
func podOf(pods []corev1.Pod, role string, attempt, index int) (found *corev1.Pod) {
	for i := range pods {
		p := &pods[i]
		if p.Labels[labelRole] == role && p.Labels[labelAttempt] == strconv.Itoa(attempt) && indexOf(p) == index &&
			(found == nil || found.CreationTimestamp.Before(&p.CreationTimestamp)) {
			found = p
		}
	}
	return found
}

// indexOf returns the index of the rank of a pod. The names of pods that operators make end with it.
func indexOf(p *corev1.Pod) int {
	n, err := strconv.Atoi(cmp.Or(p.Labels[batchv1.JobCompletionIndexAnnotation], p.Labels[appsv1.PodIndexLabel], p.Name[strings.LastIndexByte(p.Name, '-')+1:]))
	if err != nil {
		return -1
	}
	return n
}

// describe fills in the state of a worker from its pod.
func describe(w *job.Worker, p *corev1.Pod, notes []corev1.Event) {
	main, upload := statusOf(p, mainContainer), statusOf(p, uploadContainer)
	w.Restarts = int(main.RestartCount)
	for _, name := range []string{batchv1.JobIndexFailureCountAnnotation, batchv1.JobIndexIgnoredFailureCountAnnotation} {
		n, _ := strconv.Atoi(p.Annotations[name])
		w.Restarts += n
	}
	over := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	switch t := main.State.Terminated; {
	case t != nil && t.StartedAt.IsZero(): // the pod ended before the program began
		w.State, w.Ended, w.Reason = job.Failed, t.FinishedAt.Time, failure(p, &main)
	case t != nil:
		w.Started, w.Ended = t.StartedAt.Time, t.FinishedAt.Time
		code := int(t.ExitCode)
		w.ExitCode, w.State = &code, job.Succeeded
		if code != 0 {
			w.State, w.Reason = job.Failed, failure(p, &main)
			w.Signal = signalOf(t)
		}
		if m, ok := exitOf(t); ok && m.Uploaded != nil {
			w.Outputs, w.Rate = m.Uploaded.Marker, m.Uploaded.Rate
		}
		if !over && upload.State.Running != nil && p.Spec.RestartPolicy == corev1.RestartPolicyNever {
			w.State, w.Reason = job.Uploading, strings.TrimPrefix(w.Reason+"; upload pending", "; ")
		}
	case main.State.Running != nil:
		w.State, w.Started, w.Reason = job.Running, main.State.Running.StartedAt.Time, taken(p)
	case over:
		w.State, w.Reason = job.Failed, failure(p, &main)
	default:
		w.Reason = waiting(p, &main, notes)
	}
}

// statusOf returns the status of a container of a pod.
func statusOf(p *corev1.Pod, name string) corev1.ContainerStatus {
	for _, s := range slices.Concat(p.Status.ContainerStatuses, p.Status.InitContainerStatuses) {
		if s.Name == name {
			return s
		}
	}
	return corev1.ContainerStatus{}
}

// exitMessage is the last message of the launcher.
type exitMessage struct {
	job.Exit
	Uploaded *job.Uploaded `json:"uploaded"`
}

// exitOf returns the message that the launcher left, if any.
func exitOf(t *corev1.ContainerStateTerminated) (m exitMessage, ok bool) {
	return m, json.Unmarshal([]byte(t.Message), &m) == nil
}

// signalOf returns the name of the signal that ended the program, if one did.
func signalOf(t *corev1.ContainerStateTerminated) string {
	if x, ok := exitOf(t); ok {
		return x.Signal
	}
	if t.ExitCode > 128 {
		return signals[t.ExitCode-128]
	}
	return ""
}

var signals = map[int32]string{1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 11: "SEGV", 13: "PIPE", 14: "ALRM", 15: "TERM"}
