package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/kubernetes"
	"github.com/paddlecloud/pfs/internal/job/output"
	"github.com/paddlecloud/pfs/internal/testbed"
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
	p := newPods(t)
	p.applyPlugin(t)
	p.startPaddleOperator(t)
	p.k.Operator(t, "volcano")
	j := newJobs(t, p, place{
		name: "local", store: "file://" + filepath.Join(p.s.data, "store"), mount: "plugin", quota: "pods=6, requests.cpu=4, limits.memory=8Gi", life: "1h", operators: "paddlejob volcano",
	})
	t.Run("PaddleJobs", j.paddleJobs)
	for _, engine := range []string{kubernetes.Name, kubernetes.PaddleJob, kubernetes.Volcano} {
		t.Run("Gang/"+engine, func(t *testing.T) {
			spec := j.spec("gang-"+engine, "fail")
			spec.Engine, spec.Scheduler = engine, kubernetes.Volcano
			j.submit(t, spec)
			j.succeeded(t, spec, 2)
		})
		t.Run("Killed/"+engine, func(t *testing.T) {
			spec := j.spec("killed-"+engine, "idle")
			spec.Engine, spec.Scheduler = engine, kubernetes.Volcano
			j.submit(t, spec)
			j.until(t, spec.Name, "the job", func(r *job.Record) bool { return r.State == job.Running && r.Reason == "" })
			if err := j.engine.Kill(t.Context(), "", spec.Name, func(r *job.Record) { t.Logf("%s: %s", r.State, r.Reason) }); err != nil {
				t.Fatal(err)
			}
			for i := range 2 {
				j.committed(t, spec, 1, job.WorkerName(job.Trainer, i), output.Failed)
			}
			if err := j.engine.Delete(t.Context(), "", spec.Name); err != nil {
				t.Fatal(err)
			}
			j.submit(t, spec) // the name is free at once
			if err := j.engine.Kill(t.Context(), "", spec.Name, func(*job.Record) {}); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("Queue", func(t *testing.T) {
		spec := j.spec("queued", "")
		spec.Engine, spec.Roles = kubernetes.Volcano, spec.Roles[:1]
		spec.Roles[0].CPU = 1_500 // twice that is more than the machine has
		j.submit(t, spec)
		j.until(t, spec.Name, "the reason", func(r *job.Record) bool { return strings.Contains(r.Reason, `wait in the queue "default": `) })
		if err := j.engine.Kill(t.Context(), "", spec.Name, func(*job.Record) {}); err != nil {
			t.Fatal(err)
		}
	})
}
