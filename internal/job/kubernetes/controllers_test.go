package kubernetes

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	corev1 "k8s.io/api/core/v1"
)

// operatorScene is a scene whose cluster has both operators.
func operatorScene(t *testing.T) *scene {
	t.Helper()
	s := newScene(t)
	s.Config.Operators = []string{PaddleJob, Volcano}
	s.f.groups = []string{paddleJobs.Group, volcanoJobs.Group, podGroups.Group}
	for name, state := range map[string]string{"default": "Open", "research": "Open", "closed": "Closed"} {
		s.f.put("/apis/scheduling.volcano.sh/v1beta1/queues/"+name, tree{
			"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": tree{"name": name}, "status": tree{"state": state},
		})
	}
	return s
}

// submitAs submits the job of testSpec with changes.
func (s *scene) submitAs(t *testing.T, change func(*job.Spec)) {
	t.Helper()
	spec := testSpec()
	change(spec)
	if err := s.Submit(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
}

// operatorPod puts a pod of an operator into the cluster.
func (s *scene) operatorPod(t *testing.T, engine, role, suffix string, state corev1.ContainerState) {
	t.Helper()
	spec := testSpec()
	spec.Engine = engine
	template := s.Config.pod(spec, job.Role{Name: role, Replicas: 1, CPU: 1, Memory: 1 << 20}, 1)
	p := corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	p.Name = operatorName(spec, 1) + "-" + suffix
	mainState(state)(&p)
	s.putPod(t, p)
}

// phase sets the phase that an operator reports.
func phase(fields ...string) func(tree) {
	return func(o tree) {
		status := tree{fields[0]: fields[1]}
		if len(fields) == 3 {
			status = tree{fields[0]: tree{fields[1]: fields[2]}}
		}
		o["status"] = status
	}
}

// TestPaddleJob ends the parameter server of a job whose trainers have succeeded, and keeps what its pods said.
func TestPaddleJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := operatorScene(t)
		s.submitAs(t, func(spec *job.Spec) { spec.Engine = PaddleJob })
		if got := s.f.names("paddlejobs"); len(got) != 1 || got[0] != object1+"-1" || len(s.f.names("jobs"))+len(s.f.names("statefulsets")) != 0 {
			t.Fatalf("PaddleJobs %q; all: %q", got, s.left())
		}
		s.operatorPod(t, PaddleJob, job.Pserver, "ps-0", isRunning())
		s.operatorPod(t, PaddleJob, job.Trainer, "worker-0", isRunning())
		s.operatorPod(t, PaddleJob, job.Trainer, "worker-1", ended0(0, "Completed", ""))
		s.pass(t, 2)
		r := s.state(t)
		if r.Engine != PaddleJob || r.State != job.Running || r.Workers[0].State != job.Running || r.Workers[1].State != job.Succeeded || r.Workers[2].State != job.Running {
			t.Errorf("%+v", r)
		}
		s.operatorPod(t, PaddleJob, job.Trainer, "worker-0", ended0(0, "Completed", ""))
		s.pass(t, 2)
		if len(s.f.names("paddlejobs")) != 1 {
			t.Error("the parameter server had no time to end by itself")
		}
		time.Sleep(serverTime + time.Second)
		s.pass(t, 4)
		if r := s.state(t); r.State != job.Succeeded || s.commits != 1 || *r.Workers[0].ExitCode != 0 {
			t.Errorf("%+v, %d commits", r, s.commits)
		}
		if left := s.f.names("paddlejobs"); len(left) != 0 {
			t.Errorf("%q are left", left)
		}
	})
}

// TestPaddleJobFails starts a failed job again, with new objects.
func TestPaddleJobFails(t *testing.T) {
	s := operatorScene(t)
	s.submitAs(t, func(spec *job.Spec) { spec.Engine, spec.Scheduler = PaddleJob, Volcano })
	s.operatorPod(t, PaddleJob, job.Pserver, "ps-0", ended0(3, "Error", ""))
	s.operatorPod(t, PaddleJob, job.Trainer, "worker-0", isRunning())
	s.f.edit(t, "paddlejobs", object1+"-1", phase("phase", "Failed"))
	s.pass(t, 4)
	if got, groups := s.f.names("paddlejobs"), s.f.names("podgroups"); len(got) != 1 || got[0] != object1+"-2" || len(groups) != 1 || groups[0] != object1+"-2" {
		t.Fatalf("PaddleJobs %q, PodGroups %q", got, groups)
	}
	s.f.edit(t, "paddlejobs", object1+"-2", phase("phase", "Completed"))
	s.pass(t, 3)
	if r := s.state(t); r.State != job.Succeeded || r.Attempt != 2 {
		t.Errorf("%+v", r)
	}
	if err := s.Delete(t.Context(), "alice@example.com", "Fit.A-line"); err != nil || len(s.f.names("paddlejobs"))+len(s.f.names("podgroups"))+len(s.left()) != 0 {
		t.Errorf("%v: %q are left", err, s.left())
	}
}

// TestVolcanoJob waits in a queue, fails for the reason of its pod, and is killed.
func TestVolcanoJob(t *testing.T) {
	s := operatorScene(t)
	s.submitAs(t, func(spec *job.Spec) { spec.Engine, spec.Queue, spec.MaxAttempts = Volcano, "research", 1 })
	s.f.mu.Lock()
	s.f.put("/apis/scheduling.volcano.sh/v1beta1/namespaces/"+job.Namespace("alice@example.com")+"/podgroups/"+object1+"-1-uid", tree{
		"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
		"metadata": tree{"name": object1 + "-1-uid", "namespace": job.Namespace("alice@example.com"), "labels": tree{labelJob: object1, managedBy: manager}},
		"spec":     tree{"queue": "research"},
		"status": tree{"phase": "Inqueue", "conditions": []any{
			tree{"type": "Unschedulable", "status": "True", "message": "3/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 3 minAvailable; Pending: 1 Schedulable, 2 Unschedulable. Origin reason is x-ps-0: 0/1 nodes are unavailable: 1 Insufficient cpu."}}},
	})
	s.f.mu.Unlock()
	s.pass(t, 1)
	if r := s.state(t); r.State != job.Pending || !strings.Contains(r.Reason, `wait in the queue "research": no node has what 2 of them need: 0/1 nodes are unavailable: 1 Insufficient cpu.`) {
		t.Errorf("%+v", r)
	}
	s.f.edit(t, "queues", "research", phase("state", "Closing"))
	if r := s.state(t); !strings.Contains(r.Reason, `wait in the queue "research": the queue "research" of Volcano is Closing`) {
		t.Errorf("%+v", r)
	}
	s.operatorPod(t, Volcano, job.Trainer, "trainer-1", ended0(7, "Error", ""))
	s.f.edit(t, "jobs", object1+"-1", phase("state", "phase", "Terminated"))
	s.pass(t, 4)
	if r := s.state(t); r.State != job.Failed || r.Reason != "trainer-1: exit code 7" {
		t.Errorf("%+v", r)
	}
}

// TestGangText: messages of Volcano in the terms of users.
func TestGangText(t *testing.T) {
	const head = "3/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 3 minAvailable"
	for _, c := range []struct {
		message  string
		admitted bool
		want     string
	}{
		{"3/0 tasks in gang unschedulable: pod group is not ready, 3 minAvailable", false, "the queue or the cluster has not enough left for all of them"},
		{head, true, "no nodes have been found for them yet"},
		{head + "; Pending: 3 Unschedulable. Origin reason is x-0: 0/1 nodes are unavailable: 1 node(s) were unschedulable.", true,
			"no node has what 3 of them need: 0/1 nodes are unavailable: 1 node(s) were unschedulable."},
		{head + ". Origin reason is: queue resource quota insufficient", false, "the queue or the cluster has not enough left for all of them: queue resource quota insufficient"},
		{"something new", true, "something new"},
	} {
		if got := gangText(c.message, c.admitted); got != c.want {
			t.Errorf("%q is %q, want %q", c.message, got, c.want)
		}
	}
}

// forbidden refuses requests for a resource, as an API server does whose administrator has not granted the right.
func forbidden(resource string) func(*http.Request, bool) int {
	return func(r *http.Request, _ bool) int {
		if strings.Contains(r.URL.Path+"/", "/"+resource+"/") {
			return http.StatusForbidden
		}
		return 0
	}
}

// TestRemains waits for what the cluster removes after a PaddleJob, and refuses the name until then.
func TestRemains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := operatorScene(t)
		s.submitAs(t, func(spec *job.Spec) { spec.Engine = PaddleJob })
		ns := "/api/v1/namespaces/" + job.Namespace("alice@example.com")
		owned := func(at, name string) {
			s.f.mu.Lock()
			defer s.f.mu.Unlock()
			s.f.put(ns+at+name, tree{"metadata": tree{"name": name, "ownerReferences": []any{tree{"kind": "PaddleJob", "name": object1 + "-1"}}}})
		}
		owned("/configmaps/", object1+"-1")
		owned("/services/", object1+"-1-worker-0")
		collected := func(at string) {
			s.f.mu.Lock()
			defer s.f.mu.Unlock()
			delete(s.f.objects, ns+at)
		}
		var ended time.Duration
		start := time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			collected("/configmaps/" + object1 + "-1")
			time.Sleep(3 * time.Second)
			collected("/services/" + object1 + "-1-worker-0")
		}()
		if err := s.Kill(t.Context(), "alice@example.com", "Fit.A-line", func(*job.Record) { ended = time.Since(start) }); err != nil {
			t.Fatal(err)
		}
		if ended < 6*time.Second {
			t.Errorf("the kill ended after %v, before the services were gone", ended)
		}
		if err := s.Delete(t.Context(), "alice@example.com", "Fit.A-line"); err != nil {
			t.Fatal(err)
		}
		owned("/services/", object1+"-1-ps-0")
		spec := testSpec()
		spec.Engine = PaddleJob
		wantKind(t, s.Submit(t.Context(), spec), pfs.Exist, "the cluster has not removed its services yet")
	})
}

// TestOperatorRefusals refuses what an engine cannot do before anything is created.
func TestOperatorRefusals(t *testing.T) {
	for _, c := range []struct {
		change func(*scene, *job.Spec)
		kind   pfs.Kind
		text   string
	}{
		{func(s *scene, spec *job.Spec) { spec.Engine, s.f.groups = PaddleJob, nil }, pfs.Unsupported, "no paddlejobs of batch.paddlepaddle.org/v1"},
		{func(s *scene, spec *job.Spec) { spec.Scheduler, s.f.groups = Volcano, nil }, pfs.Unsupported, "no podgroups of scheduling.volcano.sh/v1beta1"},
		{func(s *scene, spec *job.Spec) { spec.Engine, s.Config.Operators = PaddleJob, nil }, pfs.Invalid, `no engine "paddlejob"; there are kubernetes`},
		{func(s *scene, spec *job.Spec) { spec.Scheduler, s.Config.Operators = Volcano, nil }, pfs.Invalid, `no scheduler "volcano"`},
		{func(_ *scene, spec *job.Spec) { spec.Scheduler = "yarn" }, pfs.Invalid, `there is no scheduler "yarn"`},
		{func(_ *scene, spec *job.Spec) { spec.Queue = "research" }, pfs.Invalid, "need the scheduler"},
		{func(_ *scene, spec *job.Spec) { spec.Engine, spec.Queue = Volcano, "other" }, pfs.Invalid, `Volcano has no queue "other"`},
		{func(_ *scene, spec *job.Spec) { spec.Scheduler, spec.Queue = Volcano, "closed" }, pfs.Invalid, `the queue "closed" of Volcano is Closed`},
		{func(s *scene, spec *job.Spec) { spec.Engine, s.f.refuse = PaddleJob, forbidden("paddlejobs") }, pfs.Permission, "refused by the test"},
		{func(s *scene, spec *job.Spec) { spec.Engine, s.f.refuse = Volcano, forbidden("queues") }, pfs.Permission, "refused by the test"},
		{func(_ *scene, spec *job.Spec) { spec.Engine, spec.Restart = Volcano, job.RestartRank }, pfs.Invalid, "cannot start one process again"},
		{func(s *scene, spec *job.Spec) { spec.Engine, s.Config.Mount = PaddleJob, Sidecar }, pfs.Invalid, "needs the node plugin"},
	} {
		s := operatorScene(t)
		spec := testSpec()
		c.change(s, spec)
		wantKind(t, s.Submit(t.Context(), spec), c.kind, c.text)
		if left := s.left(); len(left) != 0 {
			t.Errorf("%s: %q are left", c.text, left)
		}
	}
}
