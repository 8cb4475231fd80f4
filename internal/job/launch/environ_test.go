package launch

import (
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/job"
)

func TestEnviron(t *testing.T) {
	s := &job.Spec{
		Name: "fit", User: "alice@example.com", Datacenter: "dc", Entry: "python train.py", Topology: "t.py", Passes: 2,
		Roles: []job.Role{{Name: job.Trainer, Replicas: 2, CPU: 500}, {Name: job.Pserver, Replicas: 1, CPU: 1000}},
		Env:   map[string]string{"MINE": "1", "PYTHONPATH": "/lib", "PFS_ATTEMPT": "9"},
	}
	r := &Rank{Spec: s, Role: job.Trainer, Index: 1, Attempt: 2, Restart: 1, Package: "/pkg", Root: "/pfs", JobRoot: "/", Dir: "/rank",
		Trainers: []string{"127.0.0.1:7164", "127.0.0.1:7165"}, Pservers: []string{"127.0.0.1:7166"}}
	got := "\n" + strings.Join(r.Environ([]string{"PATH=/bin", "MINE=0"}), "\n") + "\n"
	for _, want := range strings.Fields(`PATH=/bin MINE=1 PYTHONPATH=/pkg:/lib PFS_ATTEMPT=2 PFS_RESTART=1 PFS_ROLE=trainer PFS_INDEX=1
		PFS_ROOT=/pfs PFS_OUTPUT=/rank/output PFS_JOB_ROOT=/ PFS_JOB_DIR=/pfs/dc/home/alice@example.com/jobs/fit
		PADDLE_JOB_NAME=fit PADDLE_CLOUD_CURRENT_DATACENTER=dc PADDLE_CLOUD_USERNAME=alice@example.com
		TRAINERS=2 PSERVERS=1 TOPOLOGY=t.py TRAINER_PACKAGE=/pkg
		PADDLE_INIT_PORT=7165 PADDLE_INIT_PORTS_NUM=1 PADDLE_INIT_PORTS_NUM_FOR_SPARSE=1 PADDLE_INIT_TRAINER_COUNT=1
		PADDLE_INIT_NUM_GRADIENT_SERVERS=2 PADDLE_INIT_TRAINER_ID=1 PADDLE_INIT_NUM_PASSES=2 PADDLE_INIT_USE_GPU=0 PADDLE_INIT_PSERVERS=127.0.0.1
		POD_IP=127.0.0.1 PADDLE_PORT=7165 TRAINING_ROLE=TRAINER PADDLE_TRAINING_ROLE=TRAINER PADDLE_TRAINER_ID=1 PADDLE_TRAINERS_NUM=2
		PADDLE_TRAINERS=127.0.0.1,127.0.0.1 PADDLE_TRAINER_ENDPOINTS=127.0.0.1:7164,127.0.0.1:7165
		PADDLE_CURRENT_ENDPOINT=127.0.0.1:7165 PADDLE_PSERVERS_IP_PORT_LIST=127.0.0.1:7166`) {
		if !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	r.Role, r.Index, r.Root = job.Pserver, 0, ""
	got = "\n" + strings.Join(r.Environ(nil), "\n") + "\n"
	for _, want := range []string{"TRAINING_ROLE=PSERVER", "PADDLE_CURRENT_ENDPOINT=127.0.0.1:7166", "PADDLE_TRAINER_ID=0"} {
		if !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("%s is missing for a parameter server", want)
		}
	}
	if strings.Contains(got, "GLOO") {
		t.Error("Gloo is on without PADDLE_WITH_GLOO")
	}
	s.Env["PADDLE_WITH_GLOO"] = "1"
	got = "\n" + strings.Join(r.Environ(nil), "\n") + "\n"
	for _, want := range []string{"PADDLE_WITH_GLOO=1", "PADDLE_GLOO_RENDEZVOUS=3", "PADDLE_GLOO_HTTP_ENDPOINT=127.0.0.1:7167"} {
		if !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("%s is missing with Gloo", want)
		}
	}
	if strings.Contains(got, "PFS_ROOT") {
		t.Error("PFS_ROOT is set without a tree")
	}
}
