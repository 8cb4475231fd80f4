package kubernetes

import (
	"testing"

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
