package kubernetes

import (
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTaskRoles: the Jobs of task roles together are the state of an attempt.
func TestTaskRoles(t *testing.T) {
	spec := testSpec()
	spec.PAI = &job.PAI{Protocol: 1}
	spec.Roles = []job.Role{{Name: "ps", Replicas: 1, MinFailed: -1}, {Name: "worker", Replicas: 2, MinSucceeded: 1}}
	const running, complete, failed, mixed, gone = "running", "complete", "failed", "mixed", ""
	for _, c := range []struct {
		ps, worker string
		missing    bool
		complete   bool
		failure    string
		stopped    int // when the attempt is over
	}{
		{running, running, false, false, "", 2},
		{running, complete, false, true, "", 1}, // as many workers as have to
		{gone, complete, false, true, "", 0},
		{complete, running, false, false, "", 1},
		{mixed, running, false, false, "", 1},
		{mixed, mixed, false, true, "", 0}, // all have ended, and the rules allow the failures
		{running, failed, false, false, "too many", 1},
		{gone, failed, false, false, "too many", 0},
		{gone, running, true, false, "", 1},
		{gone, gone, true, false, "", 0},
	} {
		s := &seen{}
		for role, state := range map[string]string{"ps": c.ps, "worker": c.worker} {
			if state == gone {
				continue
			}
			b := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Labels: roleLabels(role, 1)}}
			condition := map[string]batchv1.JobCondition{
				complete: {Type: batchv1.JobComplete, Status: corev1.ConditionTrue},
				failed:   {Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonMaxFailedIndexesExceeded, Message: "too many"},
				mixed:    {Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonFailedIndexes, Message: "some"},
			}[state]
			b.Status.Conditions = []batchv1.JobCondition{condition}
			s.jobs = append(s.jobs, jobController(b))
		}
		got := s.jobOf(spec, 1)
		if (got == nil) != c.missing || got != nil && (got.complete != c.complete || got.failure != c.failure) {
			t.Errorf("%q and %q are %+v", c.ps, c.worker, got)
		}
		if n := len(s.open().jobs); n != c.stopped {
			t.Errorf("%q and %q: %d Jobs are stopped, want %d", c.ps, c.worker, n, c.stopped)
		}
		if s.jobOf(spec, 2) != nil {
			t.Error("another attempt has Jobs")
		}
	}
}

// TestTaskReason: the reason for the end of an attempt is not a failure that the rules of its role allow.
func TestTaskReason(t *testing.T) {
	spec := testSpec()
	spec.PAI = &job.PAI{Protocol: 1}
	spec.Roles = []job.Role{{Name: "some", Replicas: 3, MinFailed: 2}, {Name: "worker", Replicas: 1}}
	three, early := 3, time.Now()
	list := []job.Worker{
		{Name: "some-0", Role: "some", State: job.Failed, ExitCode: &three, Reason: "exit code 3", Ended: early},
		{Name: "some-1", Role: "some", State: job.Running},
		{Name: "worker-0", Role: "worker", State: job.Failed, ExitCode: &three, Reason: "exit code 3", Ended: early.Add(time.Second)},
	}
	if got := firstFailure(spec, list, &controller{}); got != "worker-0: exit code 3" {
		t.Errorf("the reason is %q", got)
	}
	list[1] = job.Worker{Name: "some-1", Role: "some", State: job.Failed, ExitCode: &three, Reason: "exit code 3", Ended: early.Add(time.Minute)}
	if got := firstFailure(spec, list, &controller{}); got != "some-0: exit code 3" {
		t.Errorf("with two failures the reason is %q", got)
	}
}

// TestTasksEnd: a job that has succeeded does not run again while the tasks that are left are being ended.
func TestTasksEnd(t *testing.T) {
	spec := testSpec()
	spec.PAI = &job.PAI{Protocol: 1}
	spec.Roles = []job.Role{{Name: "ps", Replicas: 1, MinFailed: -1}, {Name: "worker", Replicas: 1, MinSucceeded: 1}}
	s := newScene(t)
	if err := s.Submit(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	pod := func(role string, state corev1.ContainerState) {
		p := testPod("0", mainState(state))
		p.Name, p.Labels[labelRole] = attemptName(spec, 1, role)+"-0-x", role
		s.putPod(t, p)
	}
	pod("ps", isRunning())
	pod("worker", ended0(0, "Completed", ""))
	s.f.edit(t, "jobs", attemptName(spec, 1, "worker"), condition("Complete", ""))
	s.pass(t, 1) // the Job of ps is removed, and its pod with it
	r, err := s.Job(t.Context(), "alice@example.com", "Fit.A-line")
	if err != nil || r.State != job.Uploading || r.Workers[0].State != job.Running {
		t.Errorf("%+v, %v", r, err)
	}
	s.pass(t, 2)
	if r := s.state(t); r.State != job.Succeeded {
		t.Errorf("%+v", r)
	}
}
