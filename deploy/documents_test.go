package deploy_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/kubernetes"
	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestDocumentJobs runs the job files of the tutorial of the paddle-operator: with the corrections of the linter, and with flags for the
// program and the image of the test.
func TestDocumentJobs(t *testing.T) {
	testbed.Long(t)
	j := newOperators(t)
	dir := t.TempDir()
	for _, c := range [][]string{
		{"sh", "-c", "cp ../internal/job/jobfile/testdata/jobs/*.yaml " + dir}, {"chmod", "-R", "u+w", dir},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	j.advertise(t)
	for _, tt := range []struct {
		name, files string
		mode        string
		args, left  []string
	}{
		{"PS", "wide-and-deep.yaml", "PS", nil, []string{"spec.cleanPodPolicy"}},
		{"Collective", "resnet.yaml", "Collective", nil, []string{"spec.cleanPodPolicy"}},
		{"NodeSelector", "nodeselector.yaml", "PS", nil, []string{"spec.cleanPodPolicy"}},
		{"Volcano", "volcano-gang.yaml", "PS", nil, []string{"spec.cleanPodPolicy"}},
		{"Volumes", "data-demo.yaml pv-pvc.yaml", "PS", []string{"-entry", "cd /nas/wide_and_deep; python3 train.py"}, []string{"spec.cleanPodPolicy"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var files []string
			for _, name := range strings.Fields(tt.files) {
				files = append(files, filepath.Join(dir, name))
			}
			_, _ = j.try(append([]string{"check", "--fix"}, files...)...) // it fails when it has corrected errors
			if out, err := j.try(append([]string{"check"}, files...)...); err != nil {
				t.Fatalf("after the corrections: %v\n%s", err, out)
			}
			args := append([]string{"submit", files[0], j.program, "--engine", kubernetes.PaddleJob, "-image", python, "-entry", "python3 train.py", "-cpu", "100m", "-memory", "128Mi",
				"--env", "MODE=round", "--env", "DATA=" + j.home() + "/lines"}, tt.args...)
			if tt.mode == "PS" {
				args = append(args, "-pscpu", "100m", "-psmemory", "64Mi")
			}
			if tt.name == "Volumes" {
				out, err := j.try(args...)
				if err == nil || !strings.Contains(out, `there is no claim "nfs-pvc" in the namespace `+job.Namespace("alice")) {
					t.Fatalf("without the claim: %v\n%s", err, out)
				}
				j.volume(t, files[1])
			}
			out, err := j.try(args...)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for line := range strings.Lines(out) {
				t.Log(strings.TrimSpace(line))
			}
			for _, field := range tt.left {
				if !strings.Contains(out, field+": pfs has no equivalent") {
					t.Errorf("submit does not say that it leaves out %s", field)
				}
			}
			if n := strings.Count(out, "has no equivalent"); n != len(tt.left) {
				t.Errorf("%d fields are left out, not %d", n, len(tt.left))
			}
			name := strings.Fields(out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:])[0]
			r, err := j.engine.Job(t.Context(), "", name)
			if err != nil {
				t.Fatal(err)
			}
			j.succeeded(t, &r.Spec, 1)
			object := job.ObjectName(name) + "-1"
			got := j.k.Kubectl(t, "", "-n", job.Namespace("alice"), "get", "paddlejob", object, "-o", "jsonpath={.status.phase} {.status.mode}")
			if got != "Completed "+tt.mode {
				t.Errorf("the PaddleJob is %s", got)
			}
			if tt.name == "Volcano" {
				if r.Spec.Scheduler != kubernetes.Volcano {
					t.Errorf("the scheduler is %q", r.Spec.Scheduler)
				}
				got := j.k.Kubectl(t, "", "-n", job.Namespace("alice"), "get", "pods", "-l", "pfs.paddlecloud.io/job="+job.ObjectName(name), "-o", "jsonpath={range .items[*]}{.spec.schedulerName} {end}")
				if strings.Count(got, kubernetes.Volcano) != 4 {
					t.Errorf("the schedulers are %s", got)
				}
			}
			j.s.paddlectl(t, "", "delete", name)
			j.s.paddlectl(t, "", "rm", "-r", string(job.Dir(r.Spec.Datacenter, r.Spec.User, name)))
		})
	}
	t.Run("Elastic", func(t *testing.T) { j.elastic(t, filepath.Join(dir, "resnet.yaml")) })
}

// try runs paddlectl as alice and returns all that it prints.
func (j *jobs) try(args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(j.bin, "paddlectl"), args...)
	cmd.Env = j.s.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// advertise gives the node the GPUs and the label that the files ask for.
func (j *jobs) advertise(t *testing.T) {
	t.Helper()
	patch := func(op string) {
		j.k.Kubectl(t, "", "patch", "node", "node1", "--subresource=status", "--type=json", "-p", fmt.Sprintf(`[{"op": %q, "path": "/status/capacity/nvidia.com~1gpu", "value": "4"}]`, op))
	}
	patch("add")
	t.Cleanup(func() { patch("remove") })
	j.k.Kubectl(t, "", "label", "node", "node1", "accelerator=nvidia-tesla-p100")
	t.Cleanup(func() { j.k.Kubectl(t, "", "label", "node", "node1", "accelerator-") })
}

// volume makes the volume and the claim of a file, with the program on them. A directory of the node takes the place of NFS.
func (j *jobs) volume(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	nas := t.TempDir()
	if out, err := exec.Command("sh", "-c", "cp -r "+j.program+" "+nas+"/wide_and_deep && chmod -R a+rX "+nas).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const options, nfs = "  mountOptions:\n    - hard\n    - nfsvers=4.1\n", "  nfs:\n    path: /nas\n    server: 10.12.201.xx\n"
	if !bytes.Contains(text, []byte(options+nfs)) || bytes.Contains(text, []byte("ReadWriteOnce")) || bytes.Contains(text, []byte("Recycle")) {
		t.Fatalf("the file is\n%s", text)
	}
	objects := strings.ReplaceAll(string(text), options+nfs, "  hostPath:\n    path: "+nas+"\n")
	j.k.Kubectl(t, objects, "-n", job.Namespace("alice"), "apply", "-f", "-")
	t.Cleanup(func() { j.k.Kubectl(t, objects, "-n", job.Namespace("alice"), "delete", "--timeout=3m", "-f", "-") })
}

// elastic shows what the operator makes of an elastic job: it restarts processes in place and tells them their number, and gives them no
// store to agree on another number. submit refuses the field.
func (j *jobs) elastic(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	elastic := strings.Replace(string(text), "spec:\n", "spec:\n  elastic: 1\n", 1)
	if err := os.WriteFile(file, []byte(elastic), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := j.try("submit", file, j.program, "--dry-run", "--engine", kubernetes.PaddleJob, "-image", python, "-entry", "python3 train.py")
	if err == nil || !strings.Contains(out, "spec.elastic: pfs has no equivalent: remove it from the file if the job can do without") {
		t.Errorf("%v\n%s", err, out)
	}
	const ns = "elastic"
	j.k.Kubectl(t, "", "create", "namespace", ns)
	t.Cleanup(func() { j.k.Kubectl(t, "", "delete", "namespace", ns, "--timeout=3m") })
	script := `import os; print(sorted(k for k in os.environ if k.startswith("PADDLE_ELASTIC")), os.environ["PADDLE_ELASTIC_NP"])`
	raw := strings.NewReplacer("registry.baidubce.com/paddle-operator/demo-resnet:v1", python, "- python\n", "- python3\n", `- "-m"`, `- "-c"`,
		`- "paddle.distributed.launch"`, fmt.Sprintf("- %q", script), `            - "train_fleet.py"`+"\n", "").Replace(elastic)
	j.k.Kubectl(t, raw, "-n", ns, "create", "-f", "-")
	j.await(t, "the end of the elastic job", func() bool {
		return j.k.Kubectl(t, "", "-n", ns, "get", "paddlejob", "resnet", "-o", "jsonpath={.status.phase}") == "Completed"
	})
	if got := j.k.Kubectl(t, "", "-n", ns, "get", "pod", "resnet-worker-0", "-o", "jsonpath={.spec.restartPolicy}"); got != "OnFailure" {
		t.Errorf("the restart policy is %s", got)
	}
	logs := strings.TrimSpace(j.k.Kubectl(t, "", "-n", ns, "logs", "resnet-worker-0", "-c", "paddle"))
	if logs != "['PADDLE_ELASTIC_JOB_ID', 'PADDLE_ELASTIC_NP', 'PADDLE_ELASTIC_TIMEOUT'] 2" {
		t.Errorf("the elastic job has %s", logs)
	}
}
