package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// interval is the time between two looks at all jobs that have not ended.
	interval = 5 * time.Second
	// sweepInterval is the time between two looks at those that have.
	sweepInterval = 10 * time.Minute
	// submitTime is how long a submission may take before it is taken for abandoned.
	submitTime = 10 * time.Minute
)

// Run reconciles all jobs until ctx is done: it begins attempts, renews tokens, writes records, and removes objects of
// ended jobs. Any number of replicas may run concurrently: each change is a change of an object that only one of them can
// make, or is harmless when it is made twice.
func (e *Engine) Run(ctx context.Context) {
	go e.watchPods(ctx)
	written := map[key]string{}
	var swept time.Time
	for ctx.Err() == nil {
		over, err := false, error(nil)
		if time.Since(swept) > sweepInterval {
			over, err = e.sweep(ctx)
		}
		if over {
			swept = time.Now()
		}
		if err = errors.Join(err, e.pass(ctx, written)); err != nil && ctx.Err() == nil {
			e.Log.Warn("jobs on Kubernetes wait for the cluster", "err", err)
		}
		_ = retry.Sleep(ctx, interval)
	}
}

// pass reconciles every job once. written has the states that this process wrote to the store.
func (e *Engine) pass(ctx context.Context, written map[key]string) error {
	list, err := e.entries(ctx, "", labels.Set{managedBy: manager, labelState: active})
	if err != nil || len(list) == 0 {
		clear(written)
		return err
	}
	found, err := e.look(ctx, "", labels.Set{managedBy: manager}.String())
	if err != nil {
		return err
	}
	present := map[key]bool{}
	for _, j := range list {
		k := key{j.ns(), j.name()}
		present[k] = true
		s := found[k]
		if s == nil {
			s = &seen{}
		}
		if err := e.step(ctx, j, s, written); err != nil && !errors.Is(err, pfs.Conflict) && ctx.Err() == nil {
			e.Log.Warn("a job cannot go on", "user", j.Spec.User, "job", j.Spec.Name, "err", err)
		}
	}
	for k := range written {
		if !present[k] {
			delete(written, k)
		}
	}
	return nil
}

// sweep removes the objects of jobs that ended long ago. It reports false if some are still ending.
func (e *Engine) sweep(ctx context.Context) (over bool, err error) {
	list, err := e.entries(ctx, "", labels.Set{managedBy: manager, labelState: ended})
	list = slices.DeleteFunc(list, func(j *entry) bool { return time.Since(j.Ended) < e.Config.Retention })
	if err != nil || len(list) == 0 {
		return err == nil, err
	}
	found, err := e.look(ctx, "", labels.Set{managedBy: manager}.String())
	if err != nil {
		return false, err
	}
	over = true
	for _, j := range list {
		s := found[key{j.ns(), j.name()}]
		over = over && s == nil
		if err := e.takeDown(ctx, j, s); err != nil && ctx.Err() == nil {
			e.Log.Warn("a job that has ended cannot be removed", "user", j.Spec.User, "job", j.Spec.Name, "err", err)
		}
	}
	return over, nil
}

// takeDown is one step of the removal of all objects of a job, its state last. It waits for nothing, since other jobs have to go on.
func (e *Engine) takeDown(ctx context.Context, j *entry, s *seen) error {
	if !s.empty() {
		return e.stopAttempts(ctx, s, func(int) bool { return true })
	}
	return e.removeRest(ctx, j.ns(), j.name())
}

// step reconciles one job.
func (e *Engine) step(ctx context.Context, j *entry, s *seen, written map[key]string) error {
	if j.Created == 0 {
		if time.Since(j.Submitted) < submitTime {
			return nil // Submit is at work
		}
		return e.takeDown(ctx, j, s)
	}
	if err := e.renew(ctx, j); err != nil {
		return err
	}
	if err := e.write(ctx, j, s, written); err != nil {
		return err
	}
	next := e.killed
	if !j.Kill && j.Created < j.Attempt {
		next = e.begin
	} else if !j.Kill {
		var err error
		if j, err = e.noteServers(ctx, j, s); err != nil {
			return err
		}
		b := s.jobOf(&j.Spec, j.Attempt)
		switch failed, final := e.failed(j, s, b); {
		case j.SucceededN == j.Attempt || failed == "" && complete(j, s, b):
			next = e.succeed
		case failed != "":
			next = func(ctx context.Context, j *entry, s *seen) error { return e.fail(ctx, j, s, failed, final) }
		default:
			return nil
		}
	}
	if err := e.unchanged(ctx, j); err != nil {
		return err
	}
	return next(ctx, j, s)
}

// unchanged returns a Conflict if the state of a job has changed since it was read: another replica may be at work, or Kill has ended
// the job. The next pass goes on. Otherwise the store would get the old state last, and the cluster the objects of a job that is over.
func (e *Engine) unchanged(ctx context.Context, j *entry) error {
	now, err := e.read(ctx, j.ns(), j.name())
	if errors.Is(err, pfs.NotExist) || err == nil && now.config.ResourceVersion != j.config.ResourceVersion {
		return pfs.Errorf("kubernetes.unchanged", "", pfs.Conflict, "the state of the job has changed")
	}
	return err
}

// complete reports whether all trainers of the present attempt have succeeded. The paddle-operator waits for parameter
// servers, too.
func complete(j *entry, s *seen, b *controller) bool {
	if b.complete || b.resource != paddleJobs {
		return b.complete
	}
	for i := range replicas(&j.Spec, job.Trainer) {
		if p := podOf(s.pods, job.Trainer, j.Attempt, i); p == nil || p.Status.Phase != corev1.PodSucceeded {
			return false
		}
	}
	return true
}

func attemptOf(o metav1.ObjectMeta) int {
	n, _ := strconv.Atoi(o.Labels[labelAttempt])
	return n
}

// failed explains why the present attempt failed, or returns "". It is final if another attempt would fail in the same way.
func (e *Engine) failed(j *entry, s *seen, b *controller) (reason string, final bool) {
	switch {
	case j.FailedN == j.Attempt:
		return j.Failed, j.Final
	case b == nil:
		return "somebody removed its Job from the cluster", false
	case b.complete:
		return "", false
	}
	list := workers(j, s)
	for _, w := range list {
		p := podOf(s.pods, w.Role, j.Attempt, w.Index)
		if p == nil {
			continue
		}
		if text := lostSidecar(p); text != "" {
			return text, true
		}
		if text, since := unpullable(p); text != "" && time.Since(since) > e.Config.PullTime {
			return w.Name + ": " + text, true
		}
	}
	return trouble(j, s, b, list), false
}

// trouble explains why the workers of the present attempt failed, or returns "".
func trouble(j *entry, s *seen, b *controller, list []job.Worker) string {
	taken := ""
	if j.Spec.Restart == job.RestartJob && j.TakenN == j.Attempt {
		taken = j.Taken
	}
	if b.failure != "" {
		return cmp.Or(taken, firstFailure(&j.Spec, list, b), b.failure)
	}
	if j.Spec.Restart == job.RestartJob {
		// A StatefulSet replaces the pod of a parameter server, but what that knew is lost.
		needed := !trainersOver(list)
		if strings.HasPrefix(taken, job.Pserver) && j.Spec.PAI == nil && needed {
			return taken
		}
		for _, w := range list {
			if !j.Spec.Serves(w.Role) {
				continue
			}
			p := podOf(s.pods, w.Role, j.Attempt, w.Index)
			if uid, known := j.Servers[w.Name]; known && needed && (p == nil || p.UID != uid) {
				return w.Name + ": its pod is gone, and with it what it knew: somebody removed it, or the cluster did while the service was away"
			}
			if p == nil {
				continue
			}
			main := statusOf(p, mainContainer)
			if main.LastTerminationState.Terminated != nil && main.State.Terminated == nil {
				main.State.Terminated = main.LastTerminationState.Terminated
			}
			if t := main.State.Terminated; t != nil && t.ExitCode != 0 {
				return w.Name + ": " + failure(p, &main)
			}
		}
	}
	return ""
}

// trainersOver reports whether the programs of all trainers have ended.
func trainersOver(list []job.Worker) bool {
	return !slices.ContainsFunc(list, func(w job.Worker) bool { return w.Role == job.Trainer && w.ExitCode == nil })
}

// watchPods records until ctx is done why the cluster removes pods: a pod that has ended is soon gone, and its reason with it.
func (e *Engine) watchPods(ctx context.Context) {
	for ctx.Err() == nil {
		w, err := e.c.pods("").Watch(ctx, metav1.ListOptions{LabelSelector: labels.Set{managedBy: manager}.String()})
		if err == nil { // it begins with all pods that there are
			for change := range w.ResultChan() {
				if p, ok := change.Object.(*corev1.Pod); ok {
					err = errors.Join(err, e.noteTaken(ctx, p))
				}
			}
			w.Stop()
		}
		if err != nil && ctx.Err() == nil {
			e.Log.Warn("why pods were taken away may be unknown", "err", err)
		}
		_ = retry.Sleep(ctx, interval)
	}
}

// noteTaken records in the state of a job why the cluster takes the pod p away, if it does.
func (e *Engine) noteTaken(ctx context.Context, p *corev1.Pod) error {
	text := taken(p)
	if text == "" {
		return nil
	}
	j, err := e.read(ctx, p.Namespace, p.Labels[labelJob])
	attempt := attemptOf(p.ObjectMeta)
	if err != nil || j.Spec.Datacenter != e.Datacenter || j.Attempt != attempt || j.TakenN == attempt || j.State.Ended() {
		return gone(err)
	}
	text = job.WorkerName(p.Labels[labelRole], indexOf(p)) + ": " + text
	_, err = e.change(ctx, j, func(j *entry) {
		if j.Attempt == attempt && j.TakenN != attempt {
			j.Taken, j.TakenN = text, attempt
		}
	})
	return gone(err)
}

// noteServers records which pods the parameter servers of the present attempt have, so that one that is replaced while the service is
// away is missed.
func (e *Engine) noteServers(ctx context.Context, j *entry, s *seen) (*entry, error) {
	found, attempt := map[string]types.UID{}, j.Attempt
	for _, role := range j.Spec.Roles {
		for i := range role.Replicas {
			name := job.WorkerName(role.Name, i)
			if _, known := j.Servers[name]; known || j.Spec.Restart != job.RestartJob || !j.Spec.Serves(role.Name) {
				continue
			}
			if p := podOf(s.pods, role.Name, attempt, i); p != nil {
				found[name] = p.UID
			}
		}
	}
	if len(found) == 0 {
		return j, nil
	}
	return e.change(ctx, j, func(j *entry) {
		if j.Attempt == attempt {
			maps.Copy(found, j.Servers)
			j.Servers = found
		}
	})
}

// firstFailure explains the failure of the worker of b that ended first, or returns "". Failures that the rules of a role allow do not count.
func firstFailure(spec *job.Spec, list []job.Worker, b *controller) (text string) {
	failed := func(w job.Worker) bool { return w.State == job.Failed || w.ExitCode != nil && *w.ExitCode != 0 }
	failures, fatal := map[string]int{}, map[string]bool{}
	for _, w := range list {
		if failed(w) {
			failures[w.Role]++
		}
	}
	for _, r := range spec.Roles {
		fatal[r.Name] = r.Fails(failures[r.Name]) && (!spec.Serves(r.Name) || !b.resource.Empty())
	}
	var first time.Time
	for _, w := range list {
		if failed(w) && fatal[w.Role] && w.Reason != "" && (text == "" || w.Ended.Before(first)) {
			text, first = w.Name+": "+strings.TrimSuffix(w.Reason, "; upload pending"), w.Ended
		}
	}
	return text
}

// fail ends the present attempt, and begins the next one if there is one left and all pods are over.
func (e *Engine) fail(ctx context.Context, j *entry, s *seen, reason string, final bool) error {
	if j.FailedN != j.Attempt {
		r := judge(j, s)
		var err error
		if j, err = e.change(ctx, j, func(j *entry) {
			j.Failed, j.FailedN, j.Final, j.Workers, j.Started = reason, j.Attempt, final, r.Workers, r.Started
		}); err != nil {
			return err
		}
	}
	left := j.Spec.Restart == job.RestartJob && j.Attempt < j.Spec.MaxAttempts && !j.Final
	if err := e.stopAttempts(ctx, s.open(), func(n int) bool { return n == j.Attempt }); err != nil {
		return err
	}
	if !s.over(j.Attempt) || len(s.sets) > 0 {
		return nil
	}
	if left {
		if err := e.abandon(ctx, j, s, workers(j, s)); err != nil {
			return err
		}
		_, err := e.change(ctx, j, func(j *entry) { j.Attempt, j.Workers, j.Servers = j.Created+1, nil, nil })
		return err
	}
	j, err := e.finishWith(ctx, j, s, job.Failed, reason)
	if err == nil {
		err = e.removeShared(ctx, j.ns(), j.name())
	}
	return err
}

// begin creates the objects of the next attempt, when nothing of the last one is left.
func (e *Engine) begin(ctx context.Context, j *entry, s *seen) error {
	before := func(n int) bool { return n < j.Attempt }
	if err := e.stopAttempts(ctx, s, before); err != nil {
		return err
	}
	if slices.ContainsFunc(s.jobs, func(b controller) bool { return before(attemptOf(b.ObjectMeta)) }) ||
		slices.ContainsFunc(s.pods, func(p corev1.Pod) bool { return before(attemptOf(p.ObjectMeta)) }) || len(s.sets) > 0 && before(attemptOf(s.sets[0].ObjectMeta)) {
		return nil
	}
	if err := e.createAll(ctx, &j.Spec, e.Config.attempt(&j.Spec, j.Attempt)); err != nil {
		return err
	}
	now, err := e.change(ctx, j, func(j *entry) { j.Created = j.Attempt })
	if errors.Is(err, pfs.NotExist) || err == nil && now.State.Ended() { // Kill has ended it meanwhile, and found nothing of this attempt
		found, err := e.look(ctx, j.ns(), j.selector())
		if s := found[key{j.ns(), j.name()}]; err == nil && s != nil {
			err = e.stopAttempts(ctx, s, func(int) bool { return true })
		}
		return err
	}
	return err
}

// succeed ends a job whose trainers have all succeeded: it ends the parameter servers and commits the outputs.
func (e *Engine) succeed(ctx context.Context, j *entry, s *seen) error {
	left := s.open()
	if b := s.jobOf(&j.Spec, j.Attempt); b != nil && b.resource == paddleJobs && !s.over(j.Attempt) {
		if j.SucceededN != j.Attempt && !serversOverdue(j, s) {
			return nil
		}
		left = s
	}
	if j.SucceededN != j.Attempt { // what its processes were is known when their pods are gone
		r := judge(j, s)
		var err error
		if j, err = e.change(ctx, j, func(j *entry) { j.SucceededN, j.Workers, j.Started = j.Attempt, r.Workers, r.Started }); err != nil {
			return err
		}
	}
	if err := e.stopAttempts(ctx, left, func(int) bool { return true }); err != nil {
		return err
	}
	if len(s.sets) > 0 || !s.over(j.Attempt) {
		return nil
	}
	fsys, err := e.Store(j.Spec.User)
	if err == nil {
		err = e.abandon(ctx, j, s, workers(j, s))
	}
	if err != nil {
		return err
	}
	state, reason := job.Succeeded, ""
	if err := e.Commit(ctx, fsys, &j.Spec, j.Attempt, succeeded(j, s)); err != nil {
		if pfs.KindOf(err).Temporary() {
			return err // the store is away
		}
		var why *pfs.Error
		if errors.As(err, &why) && why.Kind == pfs.NotExist && why.Err != nil { // the marker of a worker is another one, or is missing
			err = why.Err
		}
		state, reason = job.Failed, "the programs succeeded, and their outputs are not complete: "+clean(err.Error())
	}
	j, err = e.finishWith(ctx, j, s, state, reason)
	if err == nil {
		err = e.removeShared(ctx, j.ns(), j.name())
	}
	return err
}

// succeeded returns the workers whose outputs count.
func succeeded(j *entry, s *seen) (names []string) {
	for _, w := range workers(j, s) {
		// A task of OpenPAI may fail, or be ended because others have succeeded.
		tolerated := j.Spec.PAI != nil && (w.ExitCode == nil || *w.ExitCode != 0 || w.Outputs == "_FAILED")
		if !j.Spec.Serves(w.Role) && !tolerated {
			names = append(names, w.Name)
		}
	}
	return names
}

// serverTime is the time that parameter servers have to end by themselves.
const serverTime = 15 * time.Second

// serversOverdue reports whether the trainers of a PaddleJob have succeeded, and its parameter servers do not end by themselves.
func serversOverdue(j *entry, s *seen) bool {
	list := workers(j, s)
	return slices.ContainsFunc(list, func(w job.Worker) bool {
		return w.Role == job.Pserver && w.State != job.Uploading && !w.State.Ended()
	}) && !slices.ContainsFunc(list, func(w job.Worker) bool { return w.Role == job.Trainer && time.Since(w.Ended) < serverTime })
}

// killed completes a kill whose caller has gone.
func (e *Engine) killed(ctx context.Context, j *entry, s *seen) error {
	if !s.empty() {
		return e.stopAttempts(ctx, s, func(int) bool { return true })
	}
	if err := e.removeShared(ctx, j.ns(), j.name()); err != nil {
		return err
	}
	_, err := e.finishWith(ctx, j, s, job.Killed, "")
	return err
}

// abandon has the marker for incomplete outputs written where a worker of list has none. All pods of the attempt have ended.
// Only the cluster knows why: when a container is killed for lack of memory, or its node is lost, nobody in the pod can tell.
func (e *Engine) abandon(ctx context.Context, j *entry, s *seen, list []job.Worker) error {
	fsys, err := e.Store(j.Spec.User)
	if err != nil {
		return err
	}
	for i := range list {
		w := &list[i]
		if w.Outputs != "" && w.Restarts == 0 {
			continue
		}
		err := e.Abandon(ctx, fsys, &j.Spec, w, "no uploader is left: "+lost(w, podOf(s.pods, w.Role, j.Attempt, w.Index)))
		switch {
		case err != nil && (pfs.KindOf(err).Temporary() || ctx.Err() != nil):
			return err
		case err != nil:
			e.Log.Warn("incomplete outputs get no marker", "user", j.Spec.User, "job", j.Spec.Name, "worker", w.Name, "err", err)
		}
	}
	return nil
}

// finishWith makes a state final, with the workers as they are now.
func (e *Engine) finishWith(ctx context.Context, j *entry, s *seen, state job.State, reason string) (*entry, error) {
	r := judge(j, s)
	if err := e.abandon(ctx, j, s, r.Workers); err != nil {
		return nil, err
	}
	j.Workers, j.Started = r.Workers, r.Started
	return e.finish(ctx, j, state, reason)
}

// write writes the state of a job to the store if it has changed, and records in the cluster the facts that pods lose.
func (e *Engine) write(ctx context.Context, j *entry, s *seen, written map[key]string) error {
	r := judge(j, s)
	k := key{j.ns(), j.name()}
	state := asText(r)
	if written[k] == state {
		return nil
	}
	if err := e.unchanged(ctx, j); err != nil {
		return err
	}
	if err := e.store(ctx, r); err != nil {
		return err
	}
	written[k] = state
	j.Started = r.Started
	return nil
}

// renew replaces the token of a job's pods when half of its time has passed. The node brings it to the pods within two
// minutes.
func (e *Engine) renew(ctx context.Context, j *entry) error {
	secret, err := retried(ctx, func(ctx context.Context) (*corev1.Secret, error) {
		return e.c.secrets(j.ns()).Get(ctx, j.name(), metav1.GetOptions{})
	})
	if err != nil {
		return gone(err) // Kill has removed it
	}
	if due, err := time.Parse(time.RFC3339, secret.Annotations[noteRenew]); err == nil && time.Now().Before(due) {
		return nil
	}
	if err := e.fill(secret, j.Spec.User); err != nil {
		return err
	}
	_, err = retried(ctx, func(ctx context.Context) (*corev1.Secret, error) {
		return e.c.secrets(j.ns()).Update(ctx, secret, metav1.UpdateOptions{})
	})
	return gone(err)
}

// fill puts a new token into a Secret.
func (e *Engine) fill(secret *corev1.Secret, user string) error {
	token, expires, err := e.Token(user)
	if err != nil {
		return err
	}
	secret.Data = map[string][]byte{tokenKey: []byte(token)}
	secret.Annotations[noteRenew] = time.Now().Add(time.Until(expires) / 2).UTC().Format(time.RFC3339)
	return nil
}
