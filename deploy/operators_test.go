package deploy_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/kubernetes"
	"github.com/paddlecloud/pfs/internal/job/output"
)

// startOperators starts the paddle-operator and Volcano in the cluster.
func (p pods) startOperators(t *testing.T) {
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
	p.k.Operators(t)
}

// operatorSpec is a job for an operator.
func (j *jobs) operatorSpec(name, mode, engine string) *job.Spec {
	spec := j.spec(name, mode)
	spec.Engine = engine
	return spec
}

// paddleJobs runs a PaddleJob with a parameter server, whose first attempt fails, and a collective one, which Volcano schedules.
func (j *jobs) paddleJobs(t *testing.T) {
	t.Run("PS", func(t *testing.T) {
		spec := j.operatorSpec("paddle-ps", "fail", kubernetes.PaddleJob)
		j.submit(t, spec)
		j.succeeded(t, spec, 2)
		j.committed(t, spec, 1, "trainer-1", output.Failed)
	})
	t.Run("Collective", func(t *testing.T) {
		spec := j.operatorSpec("paddle-collective", "", kubernetes.PaddleJob)
		spec.Roles, spec.Scheduler = spec.Roles[:1], kubernetes.Volcano
		j.submit(t, spec)
		j.succeeded(t, spec, 1)
		const jsonpath = "jsonpath={.status.phase} {.status.mode}"
		if got := j.k.Kubectl(t, "", "-n", job.Namespace("alice"), "get", "paddlejob", job.ObjectName(spec.Name)+"-1", "-o", jsonpath); got != "Completed Collective" {
			t.Errorf("the PaddleJob is %s", got)
		}
	})
}
