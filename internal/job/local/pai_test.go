//go:build linux

package local

import (
	"errors"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/output"
	"github.com/paddlecloud/pfs/pfs"
)

// paiSpec returns a job of OpenPAI.
func paiSpec(roles ...job.Role) *job.Spec {
	s := spec(1, 0, "")
	s.PAI = &job.PAI{Protocol: 1, Name: "fit_line", Cluster: "default", CodeName: "fit_line"}
	for i := range roles {
		roles[i].CPU, roles[i].Memory = 1000, 1<<30
	}
	s.Roles = roles
	return s
}

// TestTaskRoles: a job of OpenPAI ends by the rules of its roles. Each process has a copy of the code, which it may change.
func TestTaskRoles(t *testing.T) {
	const wait = "while :; do sleep 0.05; done"
	tests := map[string]struct {
		roles   []job.Role
		state   job.State
		reason  string
		markers map[string]string
	}{
		"Succeeded": {
			roles: []job.Role{
				{Name: "ps", Replicas: 1, Entry: wait},
				{Name: "worker", Replicas: 2, MinSucceeded: 2, Ports: []job.Port{{Label: "rpc", Count: 2}},
					Entry: `cd $PAI_JOB_NAME && sh train.sh >$PAI_OUTPUT_DIR/said && echo changed >train.sh && echo $PAI_TASK_INDEX of $PAI_JOB_TASK_COUNT, $PAI_worker_1_rpc_PORT`},
			},
			state: job.Succeeded, markers: map[string]string{"worker-0": output.Success, "worker-1": output.Success},
		},
		"Tolerated": {
			roles: []job.Role{{Name: "a.b", Replicas: 2, MinFailed: 2, Entry: `echo x >$PFS_OUTPUT/x; exit $PAI_TASK_INDEX`}},
			state: job.Succeeded, markers: map[string]string{"a.b-0": output.Success, "a.b-1": output.Failed},
		},
		"Failed": {
			roles: []job.Role{{Name: "w", Replicas: 2, MinFailed: 2, Entry: "exit 3"}, {Name: "other", Replicas: 1, Entry: wait}},
			state: job.Failed, reason: "2 processes of w have failed, the last with: w-",
		},
		"Never": {
			roles: []job.Role{{Name: "w", Replicas: 1, MinFailed: -1, Entry: "exit 3"}},
			state: job.Succeeded, markers: map[string]string{"w-0": output.Failed},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b, s := newBed(t), paiSpec(tt.roles...)
			b.submit(s)
			r := b.end(s)
			if r.State != tt.state || !strings.Contains(r.Reason, tt.reason) {
				t.Fatalf("the job is %s: %s", r.State, r.Reason)
			}
			if name == "Succeeded" {
				log := b.logs(s, job.LogOptions{Lines: -1})
				if !strings.Contains(log, "worker-0: 0 of 3, ") || !strings.Contains(log, "worker-1: 1 of 3, ") {
					t.Errorf("the log is\n%s", log)
				}
			}
			for worker, want := range tt.markers {
				m, err := output.ReadMarker(t.Context(), b.fsys, job.OutputDir(s, 1, worker))
				if err != nil || m == nil || m.Name != want {
					t.Errorf("%s has the marker %+v, %v, want %s", worker, m, err, want)
				}
			}
			if done, err := output.Committed(t.Context(), b.fsys, job.OutputDir(s, 1, "x").Parent()); err != nil || done != (tt.state == job.Succeeded) {
				t.Errorf("the marker of the attempt: %t, %v", done, err)
			}
		})
	}
}

// TestPorts refuses two processes that ask for the same port of this machine.
func TestPorts(t *testing.T) {
	s := paiSpec(job.Role{Name: "w", Replicas: 2, Entry: "true", Ports: []job.Port{{Label: "ssh", First: 2222, Count: 1}}})
	if err := check(s); !errors.Is(err, pfs.Invalid) || !strings.Contains(err.Error(), "2222 (ssh)") {
		t.Errorf("check: %v", err)
	}
	s.Roles[0].Replicas = 1
	if err := check(s); err != nil {
		t.Error(err)
	}
}
