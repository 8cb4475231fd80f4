package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/kubernetes"
	"github.com/paddlecloud/pfs/internal/job/output"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
)

// startPaddleOperator starts the paddle-operator in the cluster.
func (p pods) startPaddleOperator(t *testing.T) {
	t.Helper()
	in := func(name string) string { return filepath.Join(p.bin, name) }
	tree := t.TempDir()
	if err := os.WriteFile(filepath.Join(tree, "nslookup"), []byte("#!/bin/sh\nexec getent hosts \"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var commands [][]string
	image := []string{in("image"), "-o", in("busybox.tar"), "-name", "docker.io/testbed/busybox:1", "-libraries", "-tree", "bin=" + tree}
	for _, name := range []string{"sh", "seq", "sleep", "getent"} {
		commands = append(commands, []string{"cp", "-L", "/usr/bin/" + name, in(name)})
		image = append(image, in(name))
	}
	for _, c := range append(commands, image) {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(c, " "), err, out)
		}
	}
	p.k.Load(t, in("busybox.tar"))
	p.k.Operator(t, "paddle-operator")
}

// paddleJobs runs a PaddleJob with a parameter server, whose first attempt fails, and a collective one.
func (j *jobs) paddleJobs(t *testing.T) {
	t.Run("PS", func(t *testing.T) {
		spec := j.spec("paddle-ps", "fail")
		spec.Engine = kubernetes.PaddleJob
		j.submit(t, spec)
		j.succeeded(t, spec, 2)
		j.committed(t, spec, 1, "trainer-1", output.Failed)
	})
	t.Run("Collective", func(t *testing.T) {
		spec := j.spec("paddle-collective", "")
		spec.Engine, spec.Roles = kubernetes.PaddleJob, spec.Roles[:1]
		j.submit(t, spec)
		j.succeeded(t, spec, 1)
		got := j.k.Kubectl(t, "", "-n", job.Namespace("alice"), "get", "paddlejob", job.ObjectName(spec.Name)+"-1", "-o", "jsonpath={.status.phase} {.status.mode}")
		if got != "Completed Collective" {
			t.Errorf("the PaddleJob is %s", got)
		}
	})
}

// TestOperators runs jobs with both operators, and all processes of a job at once.
func TestOperators(t *testing.T) {
	testbed.Long(t)
	j := newOperators(t)
	t.Run("PaddleJobs", j.paddleJobs)
	for _, engine := range []string{kubernetes.Name, kubernetes.PaddleJob, kubernetes.Volcano} {
		t.Run("Gang/"+engine, func(t *testing.T) {
			spec := j.spec("gang-"+engine, "fail")
			spec.Engine, spec.Scheduler = engine, kubernetes.Volcano
			j.submit(t, spec)
			j.succeeded(t, spec, 2)
		})
		t.Run("Again/"+engine, func(t *testing.T) { j.again(t, engine) })
	}
	t.Run("Queue", j.queue)
	t.Run("Refused", j.refused)
}

// newOperators starts both operators.
func newOperators(t *testing.T) *jobs {
	p := newPods(t)
	p.applyPlugin(t)
	p.startPaddleOperator(t)
	p.k.Operator(t, "volcano")
	return newJobs(t, p, place{
		name: "local", store: "file://" + filepath.Join(p.s.data, "store"), mount: "plugin", quota: "pods=6, requests.cpu=4, limits.memory=8Gi", life: "1h", operators: "paddlejob volcano",
	})
}

// again kills a job, and submits another one of its name at once: nothing of the old one spoils it.
func (j *jobs) again(t *testing.T, engine string) {
	spec := j.spec("again-"+engine, "idle")
	spec.Engine, spec.Scheduler = engine, kubernetes.Volcano
	j.submit(t, spec)
	j.training(t, spec)
	j.s.paddlectl(t, "", "kill", "-rm", spec.Name)
	for i := range 2 {
		j.committed(t, spec, 1, job.WorkerName(job.Trainer, i), output.Failed)
	}
	left := j.k.Kubectl(t, "", "-n", job.Namespace("alice"), "get", "pods,services,configmaps,paddlejobs,jobs.batch.volcano.sh,podgroups", "-o", "name")
	if strings.Contains(left, job.ObjectName(spec.Name)) {
		t.Errorf("after the kill there are\n%s", left)
	}
	j.s.paddlectl(t, "", "rm", "-r", string(job.Dir(spec.Datacenter, spec.User, spec.Name)))
	spec = j.spec("again-"+engine, "")
	spec.Engine, spec.Scheduler = engine, kubernetes.Volcano
	j.submit(t, spec)
	j.succeeded(t, spec, 1)
}

// queue has a job wait in a queue while the node takes no pods and the queue is closed.
func (j *jobs) queue(t *testing.T) {
	const objects = `
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: research}
spec: {weight: 1}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
`
	j.k.Kubectl(t, objects, "apply", "-f", "-")
	t.Cleanup(func() { j.k.Kubectl(t, objects, "delete", "-f", "-") })
	j.k.Kubectl(t, "", "cordon", "node1")
	t.Cleanup(func() { j.k.Kubectl(t, "", "uncordon", "node1") })
	j.await(t, "the queue", func() bool {
		return j.k.Kubectl(t, "", "get", "queue", "research", "-o", "jsonpath={.status.state}") == "Open"
	})
	of := func(name, engine string) *job.Spec {
		spec := j.spec(name, "")
		spec.Engine, spec.Scheduler, spec.Queue, spec.Priority = engine, kubernetes.Volcano, "research", "urgent"
		return spec
	}
	engines := []string{kubernetes.Name, kubernetes.PaddleJob, kubernetes.Volcano}
	for _, engine := range engines {
		unknown := of("unknown-"+engine, engine)
		unknown.Queue = "nowhere"
		j.refuses(t, unknown, `Volcano has no queue "nowhere"`)
		unknown.Queue, unknown.Priority = "research", "nobody"
		j.refuses(t, unknown, "no PriorityClass with name nobody")
	}
	for _, engine := range []string{kubernetes.PaddleJob, kubernetes.Volcano} {
		j.submit(t, of("queued-"+engine, engine))
		j.until(t, "queued-"+engine, "the reason", func(r *job.Record) bool {
			return strings.Contains(r.Reason, `wait in the queue "research": no node has what 3 of them need`)
		})
		const columns = "jsonpath={range .items[*]}{.spec.queue} {.spec.priorityClassName} {.spec.minMember}{end}"
		labels := "pfs.paddlecloud.io/job=" + job.ObjectName("queued-"+engine)
		if got := j.k.Kubectl(t, "", "-n", job.Namespace("alice"), "get", "podgroups", "-l", labels, "-o", columns); got != "research urgent 3" {
			t.Errorf("the PodGroup of %s has %q", engine, got)
		}
	}
	owner := fmt.Sprintf(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, name: research, controller: true, uid: %s}`,
		j.k.Kubectl(t, "", "get", "queue", "research", "-o", "jsonpath={.metadata.uid}"))
	j.k.Kubectl(t, fmt.Sprintf("apiVersion: bus.volcano.sh/v1alpha1\nkind: Command\nmetadata: {name: close, namespace: default, ownerReferences: [%s]}\naction: CloseQueue\ntarget: %s\n",
		owner, owner), "create", "-f", "-")
	j.until(t, "queued-"+kubernetes.Volcano, "the reason", func(r *job.Record) bool {
		return strings.Contains(r.Reason, `wait in the queue "research": the queue "research" of Volcano is Clos`)
	})
	for _, engine := range engines {
		j.refuses(t, of("closed-"+engine, engine), `the queue "research" of Volcano is Clos`)
	}
	j.k.Kubectl(t, "", "uncordon", "node1")
	for _, engine := range []string{kubernetes.PaddleJob, kubernetes.Volcano} { // closing a queue does not end what waits in it
		j.succeeded(t, of("queued-"+engine, engine), 1)
	}
}

// refused has the cluster refuse PaddleJobs: by its rights, and by a policy, as a webhook does.
func (j *jobs) refused(t *testing.T) {
	spec := j.spec("refused", "")
	spec.Engine = kubernetes.PaddleJob
	manifest, err := os.ReadFile("jobs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	without := strings.ReplaceAll(string(manifest), "resources: [paddlejobs]", "resources: [others]")
	j.k.Kubectl(t, without, "apply", "-f", "-")
	t.Cleanup(func() { j.k.Kubectl(t, string(manifest), "apply", "-f", "-") })
	j.refuses(t, spec, "cannot list resource \"paddlejobs\"")
	j.k.Kubectl(t, string(manifest), "apply", "-f", "-")

	const policy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-paddlejobs}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [batch.paddlepaddle.org], apiVersions: [v1], operations: [CREATE], resources: [paddlejobs]}]}
  validations: [{expression: "false", message: no PaddleJobs on Mondays}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-paddlejobs}
spec: {policyName: no-paddlejobs, validationActions: [Deny]}
`
	j.k.Kubectl(t, policy, "apply", "-f", "-")
	t.Cleanup(func() { j.k.Kubectl(t, policy, "delete", "-f", "-") })
	j.refuses(t, spec, "no PaddleJobs on Mondays")
}

// refuses waits until the cluster refuses a job, and checks that it has nothing of it. A change of the cluster takes effect after a while.
func (j *jobs) refuses(t *testing.T, spec *job.Spec, text string) {
	t.Helper()
	j.await(t, text, func() bool {
		_, err := j.engine.Plan(t.Context(), j.packaged(spec))
		return err != nil && strings.Contains(err.Error(), text)
	})
	if err := j.engine.Submit(t.Context(), spec); err == nil || !strings.Contains(err.Error(), text) {
		t.Fatalf("%s: the error is %v, want %s", spec.Name, err, text)
	}
	left := j.k.Kubectl(t, "", "-n", job.Namespace("alice"), "get", "all,configmaps,secrets,paddlejobs,jobs.batch.volcano.sh,podgroups", "-o", "name")
	if strings.Contains(left, job.ObjectName(spec.Name)) {
		t.Errorf("after the refusal there are\n%s", left)
	}
}

// packaged gives a job a package that is there.
func (j *jobs) packaged(spec *job.Spec) *job.Spec {
	spec.Package = pfs.Path(j.home()) + "/lines"
	return spec
}
