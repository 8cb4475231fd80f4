package kubernetes

import (
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// testPod is the pod of a trainer, with a change.
func testPod(index string, change func(*corev1.Pod)) corev1.Pod {
	config, spec := testConfig(), testSpec()
	template := config.pod(spec, spec.Roles[0], 1)
	p := corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	p.Name = attemptName(spec, 1, job.Trainer) + "-" + index + "-x"
	p.Labels[batchv1.JobCompletionIndexAnnotation] = index
	p.Status.Phase = corev1.PodPending
	change(&p)
	return p
}

func mainState(s corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: mainContainer, State: s}}
		if s.Running != nil {
			p.Status.Phase = corev1.PodRunning
		}
		if s.Terminated != nil {
			p.Status.Phase = corev1.PodFailed
			if s.Terminated.ExitCode == 0 {
				p.Status.Phase = corev1.PodSucceeded
			}
		}
	}
}

func isRunning() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
}

func ended0(code int32, reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message, StartedAt: metav1.Now(), FinishedAt: metav1.Now()}}
}

func isWaiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// TestReasons checks what users read about a job of two trainers.
func TestReasons(t *testing.T) {
	condition := func(c corev1.PodCondition) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Conditions = []corev1.PodCondition{c} }
	}
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod) // of trainer-1; trainer-0 runs
		job    job.State
		worker job.State
		reason string // of the worker
	}{
		{"unschedulable", condition(corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available: 3 Insufficient cpu."}),
			job.Running, job.Pending, "no node has what its pod needs, 2100m cpu, 20736Mi ephemeral-storage, 2112Mi memory: 0/3 nodes are available: 3 Insufficient cpu."},
		{"gang", condition(corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "pod group is not ready, 3 Pending, 3 minAvailable; Pending: 3 Unschedulable. Origin reason is x-0: 0/1 nodes are unavailable: 1 Insufficient cpu."}),
			job.Running, job.Pending, "all processes start at once: no node has what 3 of them need: 0/1 nodes are unavailable: 1 Insufficient cpu."},
		{"image", mainState(isWaiting("ImagePullBackOff", "Back-off pulling image")), job.Running, job.Pending, "the image registry.example.org/train:1 cannot be pulled: Back-off"},
		{"config", mainState(isWaiting("CreateContainerConfigError", `secret "x" not found`)), job.Running, job.Pending, `the container main cannot be started: secret "x" not found`},
		{"starting", mainState(isWaiting("PodInitializing", "")), job.Running, job.Pending, "its containers are being started"},
		{"sidecar", func(p *corev1.Pod) { p.Spec.InitContainers[1].RestartPolicy = nil }, job.Running, job.Pending, "a webhook of the cluster removes restartPolicy"},
		{"memory", mainState(ended0(137, "OOMKilled", "")), job.Running, job.Failed, "out of memory: killed at its limit of 2Gi"},
		{"signal", mainState(ended0(139, "Error", "")), job.Running, job.Failed, "ended by the signal SEGV"},
		{"code", mainState(ended0(3, "Error", "")), job.Running, job.Failed, "exit code 3"},
		{"launcher", mainState(ended0(1, "Error", `{"code":1,"reason":"train.py does not exist"}`)), job.Running, job.Failed, "train.py does not exist"},
		{"asked to end", mainState(ended0(143, "Error", `{"code":0,"stopped":true}`)), job.Running, job.Failed, "the cluster asked it to end, and it ended with 0"},
		{"success", mainState(ended0(0, "Completed", "")), job.Running, job.Succeeded, ""},
		{"preempted", condition(corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler"}), job.Running, job.Pending, ""},
		{"inputs", func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodFailed
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: stageContainer, State: ended0(3, "Error", "/pfs/x does not exist")}}
		}, job.Running, job.Failed, "copying the inputs failed with exit code 3: /pfs/x does not exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := testSpec()
			spec.Roles = spec.Roles[:1]
			j := &entry{stored: stored{Record: job.Record{Spec: *spec, Attempt: 1}, Created: 1}}
			r := judge(j, &seen{pods: []corev1.Pod{testPod("0", mainState(isRunning())), testPod("1", c.change)}})
			w := r.Workers[1]
			if r.State != c.job || w.State != c.worker || !strings.Contains(w.Reason, c.reason) || c.reason == "" && w.State != job.Pending && w.Reason != "" {
				t.Errorf("the job is %s (%s), the worker %s (%s)", r.State, r.Reason, w.State, w.Reason)
			}
			if w.State == job.Pending && !strings.HasPrefix(r.Reason, "1 of 2 processes wait for peers; trainer-1: ") {
				t.Errorf("the reason of the job is %q", r.Reason)
			}
		})
	}
}

// TestRestarts counts the pods of a rank that failed, those that were evicted, and the restarts of the container.
func TestRestarts(t *testing.T) {
	spec := testSpec()
	j := &entry{stored: stored{Record: job.Record{Spec: *spec, Attempt: 1}, Created: 1}}
	r := judge(j, &seen{pods: []corev1.Pod{testPod("0", func(p *corev1.Pod) {
		p.Annotations = map[string]string{batchv1.JobIndexFailureCountAnnotation: "1", batchv1.JobIndexIgnoredFailureCountAnnotation: "2"}
		mainState(isRunning())(p)
		p.Status.ContainerStatuses[0].RestartCount = 4
	})}})
	if n := r.Workers[0].Restarts; n != 7 {
		t.Errorf("%d restarts", n)
	}
}

// TestNoPods explains a job whose pods the cluster refuses.
func TestNoPods(t *testing.T) {
	spec := testSpec()
	j := &entry{stored: stored{Record: job.Record{Spec: *spec, Attempt: 1}, Created: 1}}
	note := corev1.Event{Reason: "FailedCreate", Message: `Error creating: pods "x" is forbidden: exceeded quota: pfs, requested: requests.cpu=2100m, used: requests.cpu=9, limited: requests.cpu=10`}
	r := judge(j, &seen{notes: []corev1.Event{note}})
	if want := "the quota pfs is used up: a pod needs requests.cpu=2100m; in use: requests.cpu=9; limit: requests.cpu=10"; r.State != job.Pending || r.Reason != want {
		t.Errorf("%s: %s", r.State, r.Reason)
	}
	for _, c := range []struct{ reason, message, want string }{
		{"Unhealthy", "Startup probe failed: pfs-agent: status: nothing is mounted at /pfs/dc", "/pfs is being mounted: pfs-agent: status: nothing is mounted at /pfs/dc"},
		{"Unschedulable", "0/0 tasks in gang unschedulable: pod group is not ready, 3 minAvailable", "all processes start at once: no nodes have been found for them yet"},
		{"PodFailurePolicy", "Pod x/y has condition DisruptionTarget matching FailJob rule at index 0", "a process has failed, and the others end"},
	} {
		if r := judge(j, &seen{notes: []corev1.Event{{Reason: c.reason, Message: c.message}}}); r.Reason != c.want {
			t.Errorf("%s: %s", c.reason, r.Reason)
		}
	}
	j.Taken, j.TakenN = "trainer-1: evicted from its node: of the test", 1
	r = judge(j, &seen{pods: []corev1.Pod{testPod("0", mainState(isRunning()))}, notes: []corev1.Event{note}})
	if want := "1 of 3 processes wait for peers; trainer-1: evicted from its node: of the test"; r.Reason != want {
		t.Errorf("while the attempt ends: %s", r.Reason)
	}
}

// TestUploading shows a rank whose program has ended, and whose sidecar has not.
func TestUploading(t *testing.T) {
	spec := testSpec()
	spec.Roles = spec.Roles[:1]
	j := &entry{stored: stored{Record: job.Record{Spec: *spec, Attempt: 1}, Created: 1}}
	pod := func(p *corev1.Pod) {
		mainState(ended0(0, "Completed", ""))(p)
		p.Status.Phase = corev1.PodRunning
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: uploadContainer, State: isRunning()}}
	}
	r := judge(j, &seen{pods: []corev1.Pod{testPod("0", pod), testPod("1", pod)}})
	if r.State != job.Uploading || r.Workers[0].State != job.Uploading || *r.Workers[0].ExitCode != 0 {
		t.Errorf("%+v", r)
	}
}

// TestShortage checks the arithmetic of quotas.
func TestShortage(t *testing.T) {
	config := testConfig()
	needs := config.needsOf(testSpec())
	quota := func(name corev1.ResourceName, hard, used string) []corev1.ResourceQuota {
		return []corev1.ResourceQuota{{
			ObjectMeta: metav1.ObjectMeta{Name: "team", Namespace: "pfs-alice"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{name: resource.MustParse(hard)}},
			Status:     corev1.ResourceQuotaStatus{Used: corev1.ResourceList{name: resource.MustParse(used)}},
		}}
	}
	for _, c := range []struct {
		name       corev1.ResourceName
		hard, used string
		want       string
	}{
		{"pods", "3", "0", ""},
		{"pods", "10", "8", "not enough pods: the job needs 3 (2 trainers 2 + 1 pservers 1, with what runs beside them), and 2 of 10 are free (8 in use, quota team of the namespace pfs-alice)"},
		{"requests.cpu", "10", "0", ""},
		{"requests.cpu", "4800m", "0", ""},
		{"cpu", "4799m", "0", "not enough cpu: the job needs 4800m (2 trainers 4200m + 1 pservers 600m, with what runs beside them), and 4799m of 4799m are free"},
		{"limits.memory", "5Gi", "1Gi", "not enough limits.memory: the job needs 5888Mi"},
		{"requests.nvidia.com/gpu", "0", "0", ""},
		{"count/jobs.batch", "0", "0", ""},
	} {
		if got := shortage(quota(c.name, c.hard, c.used), needs); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s %s of %s: %s", c.name, c.used, c.hard, got)
		}
	}
}

// TestCompare checks what a cluster may do to an object.
func TestCompare(t *testing.T) {
	config, spec := testConfig(), testSpec()
	for _, c := range []struct {
		name   string
		change func(*corev1.PodSpec)
		want   string
	}{
		{"nothing", func(*corev1.PodSpec) {}, ""},
		{"additions", func(p *corev1.PodSpec) {
			p.InitContainers = append([]corev1.Container{{Name: "mesh"}}, p.InitContainers...)
			p.NodeSelector = map[string]string{"pool": "a"}
		}, ""},
		{"mirror", func(p *corev1.PodSpec) { p.Containers[0].Image = "mirror/" + p.Containers[0].Image }, ""},
		{"restartPolicy", func(p *corev1.PodSpec) { p.InitContainers[1].RestartPolicy = nil },
			"it removed the field spec.template.spec.initContainers[upload].restartPolicy of the Job fit-a-line-1e29c8fa-1-trainer;"},
		{"sidecar", func(p *corev1.PodSpec) { p.InitContainers = p.InitContainers[:1] }, "initContainers[upload]"},
		{"command", func(p *corev1.PodSpec) { p.Containers[0].Command = []string{"sh"} }, `it replaced /pfs-agent/pfs-agent by sh in the field spec.template.spec.containers[main].command[0]`},
		{"grace", func(p *corev1.PodSpec) { p.TerminationGracePeriodSeconds = ptr(int64(30)) }, "it replaced 630 by 30"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := config.trainers(spec, spec.Roles[0], 1)
			got := want.DeepCopy()
			c.change(&got.Spec.Template.Spec)
			switch err := compare(want, got); {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// TestGrace refuses an upload for which the cluster leaves no time, by the rate of earlier jobs.
func TestGrace(t *testing.T) {
	fsys, spec := memfs.New(memfs.Options{}), testSpec()
	e := &Engine{Options: Options{Config: testConfig(), Store: func(string) (pfs.FileSystem, error) { return fsys, nil }}}
	e.Config.MaxGrace, e.Config.Storage = 2*time.Minute, resource.MustParse("9Gi")
	earlier := func(name string, rate int64) {
		r := &job.Record{Spec: *testSpec(), State: job.Succeeded, Workers: []job.Worker{{Rate: rate}, {Rate: 500 << 20}}}
		r.Spec.Name = name
		if err := job.CreateRecord(t.Context(), fsys, r); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(want string) {
		t.Helper()
		if err := e.check(t.Context(), spec); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--upload-wait to 1m30s") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	refused("no earlier job has measured")
	earlier("fast", 200<<20)
	if err := e.check(t.Context(), spec); err != nil {
		t.Error(err)
	}
	if grace := e.Config.grace(spec); grace != 2*time.Minute {
		t.Errorf("a pod has %v", grace)
	}
	earlier("slow", 64<<20)
	refused("the 9Gi of its disk take 2m24s at the rate of earlier jobs, 64Mi a second")
}
