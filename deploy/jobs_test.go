package deploy_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/jobhttp"
	"github.com/paddlecloud/pfs/internal/job/output"
	"github.com/paddlecloud/pfs/internal/job/submit"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/client"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// python is an image with Python 3 and nothing else.
const python = "docker.io/testbed/python:1"

// samples is the number of records of the dataset of the jobs.
const samples = 2000

// place is a datacenter with an engine.
type place struct {
	name, store    string
	options, quota string
	mount          string // "plugin" or "sidecar"
	life           string // of access tokens
	operators      string // that the cluster has
}

func (p place) home() string { return "/pfs/" + p.name + "/home/alice" }

// jobs are those of one user on one cluster.
type jobs struct {
	pods
	place
	fsys    pfs.FileSystem
	engine  *jobhttp.Client
	program string // a directory with the package
	file    string // the configuration of pfsd
}

// newJobs gives pfsd the engine, and prepares an image, a package and a dataset.
func newJobs(t *testing.T, p pods, at place) *jobs {
	t.Helper()
	j := &jobs{pods: p, place: at, program: t.TempDir()}
	serveDNS(t, p.k)
	p.k.Load(t, pythonImage(t, p.bin))
	manifest, err := os.ReadFile("jobs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.k.Kubectl(t, string(manifest), "apply", "-f", "-")
	t.Cleanup(func() { p.k.Kubectl(t, string(manifest), "delete", "--ignore-not-found", "-f", "-") })
	p.k.Kubectl(t, "", "-n", "pfs-system", "rollout", "status", "ds/pfs-csi", "--timeout=3m")
	j.file = j.config(t)
	p.s.restart(t, j.file)

	c, err := client.New(client.Options{Endpoint: p.s.endpoint, Fingerprint: p.s.fingerprint, Token: p.s.access})
	if err != nil {
		t.Fatal(err)
	}
	j.fsys, j.engine = c, jobhttp.NewClient(c, at.name)
	t.Cleanup(func() {
		if t.Failed() {
			j.explainAll(t)
		}
		p.k.Kubectl(t, "", "delete", "namespace", job.Namespace("alice"), "--ignore-not-found", "--timeout=3m")
	})
	for _, c := range [][]string{{"cp", "testdata/job/train.py", j.program}, {"cp", "-r", "../python/recordio", j.program}} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	var lines bytes.Buffer
	for i := range samples {
		fmt.Fprintf(&lines, "%06d %d %d\n", i, i%97, 3*(i%97)+1)
	}
	source := filepath.Join(t.TempDir(), "source.txt")
	if err := os.WriteFile(source, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	p.s.paddlectl(t, "", "rm", "-rf", at.home()+"/*") // a CephFS may have files of the tests of an earlier run
	p.s.paddlectl(t, "", "dataset", "convert", "--format", "text", "--payload", "raw", "--compressor", "none", "--num-shards", "4", "--output-path", at.home()+"/lines", "--name-prefix", "train", source)
	return j
}

// pythonImage makes the image of the Python of this machine.
func pythonImage(t *testing.T, bin string) string {
	t.Helper()
	out, err := exec.Command("/usr/bin/python3", "-c", "import os, sysconfig; print(sysconfig.get_path('stdlib'))").Output()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("there is no /usr/bin/python3: %v", err)
	}
	library, tree, archive := strings.TrimSpace(string(out)), filepath.Join(t.TempDir(), "python"), filepath.Join(bin, "python.tar")
	for _, c := range [][]string{
		{"cp", "-rL", library, tree},
		{"sh", "-c", "cd " + tree + " && rm -rf test idlelib lib2to3 ensurepip pydoc_data config-* turtledemo tkinter dist-packages && find . -name __pycache__ -prune -exec rm -r {} +"},
		{"cp", "-L", "/usr/bin/python3", filepath.Join(bin, "python3")}, {"cp", "-L", "/bin/sh", filepath.Join(bin, "sh")},
		{filepath.Join(bin, "image"), "-o", archive, "-name", python, "-libraries", "-tree", "usr/lib/" + filepath.Base(library) + "=" + tree, filepath.Join(bin, "python3"), filepath.Join(bin, "sh")},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil && c[0] != "cp" { // cp fails for links that lead nowhere
			t.Fatalf("%s: %v\n%s", strings.Join(c, " "), err, out)
		}
	}
	return archive
}

// config returns a configuration of pfsd with the engine, which has the rights of jobs.yaml and no others.
func (j *jobs) config(t *testing.T) string {
	t.Helper()
	token := strings.TrimSpace(j.k.Kubectl(t, "", "-n", "pfs-system", "create", "token", "pfsd", "--duration=8h"))
	admin, err := os.ReadFile(j.k.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var limited []string
	for line := range strings.Lines(string(admin)) {
		if strings.HasPrefix(line, "users:") {
			line = "users: [{name: admin, user: {token: " + token + "}}]\n"
		}
		limited = append(limited, line)
	}
	if err := os.WriteFile(filepath.Join(dir, "kubeconfig"), []byte(strings.Join(limited, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "pfsd.yaml")
	text := fmt.Sprintf(`access-life: %s
datacenters:
  %s:
    store: %s
    options: {%s}
    engine: kubernetes
    engine-options:
      kubeconfig: %s
      image: %s
      service: %s
      fingerprint: %s
      storage: 1Gi
      mount: %s
      pull-time: 15s
      quota: %s
      operators: %q
`, j.life, j.place.name, j.store, j.options, filepath.Join(dir, "kubeconfig"), image, j.s.endpoint, j.s.fingerprint, j.mount, j.quota, j.operators)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// spec is a job of two trainers and a parameter server.
func (j *jobs) spec(name, mode string) *job.Spec {
	return &job.Spec{
		ID: rand.Text(), Name: name, User: "alice", Datacenter: j.place.name, Entry: "python3 train.py", Passes: 1, Image: python,
		Roles: []job.Role{
			{Name: job.Trainer, Replicas: 2, CPU: 100, Memory: 128 << 20}, {Name: job.Pserver, Replicas: 1, CPU: 100, Memory: 64 << 20},
		},
		Env:         map[string]string{"MODE": mode, "DATA": j.home() + "/lines"},
		MaxAttempts: 2, Restart: job.RestartJob, UploadWait: time.Minute,
	}
}

func (j *jobs) submit(t *testing.T, spec *job.Spec) {
	t.Helper()
	local, err := localfs.New(j.program, localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := submit.Submission{FS: j.fsys, Engine: j.engine, Kind: "kubernetes", Spec: spec, Package: transfer.End{FS: local, Path: "/"}, Note: t.Logf}
	if err := s.Submit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// until waits for a state of a job, and logs how it gets there.
func (j *jobs) until(t *testing.T, name, what string, done func(*job.Record) bool) *job.Record {
	t.Helper()
	var r *job.Record
	last := ""
	j.await(t, what, func() bool {
		var err error
		if r, err = j.engine.Job(t.Context(), "", name); err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprintf("%s attempt %d: %s (%s)", name, r.Attempt, r.State, r.Reason); text != last {
			t.Log(text)
			last = text
		}
		return done(r) || r.State.Ended()
	})
	if !done(r) {
		t.Fatalf("%s: %s: %s; %+v", what, r.State, r.Reason, r.Workers)
	}
	return r
}

func ended(r *job.Record) bool { return r.State.Ended() }

// read returns a file of the outputs of a worker.
func (j *jobs) read(t *testing.T, spec *job.Spec, attempt int, worker, name string) string {
	t.Helper()
	return j.s.paddlectl(t, "", "cat", string(job.OutputDir(spec, attempt, worker).Join(name)))
}

// committed checks the marker of a worker, and that all its outputs are there.
func (j *jobs) committed(t *testing.T, spec *job.Spec, attempt int, worker, marker string) {
	t.Helper()
	r, err := output.Verify(t.Context(), j.fsys, job.OutputDir(spec, attempt, worker), func(int64) {})
	if err != nil || r.Marker != marker || !r.Verified {
		t.Fatalf("the outputs of %s in attempt %d: %+v, %v; want %s", worker, attempt, r, err, marker)
	}
	t.Logf("attempt %d, %s: %s, %d files, %d bytes, verified", attempt, worker, marker, r.Files, r.Bytes)
}

// once checks that the trainers of an attempt have read every record exactly once.
func (j *jobs) once(t *testing.T, spec *job.Spec, attempt int) {
	t.Helper()
	var all []string
	for i := range 2 {
		own := strings.Fields(j.read(t, spec, attempt, job.WorkerName(job.Trainer, i), "records"))
		if len(own) == 0 {
			t.Errorf("trainer %d read nothing", i)
		}
		all = append(all, own...)
	}
	slices.Sort(all)
	if len(all) != samples || len(slices.Compact(all)) != samples {
		t.Errorf("%d records were read", len(all))
	}
}

// explainAll logs what is known about the jobs of a failed test.
func (j *jobs) explainAll(t *testing.T) {
	ns := job.Namespace("alice")
	for _, args := range [][]string{
		{"-n", ns, "get", "all,events", "-o", "wide"}, {"-n", ns, "describe", "pods"}, {"-n", ns, "logs", "-l", "app.kubernetes.io/managed-by=pfsd", "--all-containers", "--prefix", "--tail=50"},
	} {
		out, _ := j.k.TryKubectl("", args...)
		t.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
	t.Logf("pfsd:\n%s", j.s.log.String())
}

// testJobs runs jobs of two trainers and a parameter server.
func testJobs(t *testing.T, p pods) {
	p.startPaddleOperator(t)
	j := newJobs(t, p, place{
		name: "local", store: "file://" + filepath.Join(p.s.data, "store"), mount: "plugin", quota: "pods=6, requests.cpu=4, limits.memory=8Gi", life: "1h", operators: "paddlejob",
	})
	t.Run("Retried", j.retried)
	t.Run("Killed", j.killed)
	t.Run("PaddleJobs", j.paddleJobs)
}

// retried fails one trainer in the first attempt; the second attempt succeeds.
func (j *jobs) retried(t *testing.T) {
	spec := j.spec("Retried.1", "fail")
	j.submit(t, spec)
	r := j.until(t, spec.Name, "the end of the job", ended)
	if r.State != job.Succeeded || r.Attempt != 2 {
		t.Errorf("%s after %d attempts: %s", r.State, r.Attempt, r.Reason)
	}
	j.committed(t, spec, 1, "trainer-1", output.Failed)
	j.committed(t, spec, 2, "trainer-0", output.Success)
	j.committed(t, spec, 2, "trainer-1", output.Success)
	j.once(t, spec, 2)
	if model := j.read(t, spec, 2, "trainer-0", "model"); model != `{"records": 2000.0, "slope": 3.0}` {
		t.Errorf("the model is %s", model)
	}
	if ok, err := output.Committed(t.Context(), j.fsys, job.OutputDir(spec, 2, "trainer-0").Parent()); err != nil || !ok {
		t.Errorf("the attempt is not committed: %v", err)
	}
	var logs bytes.Buffer
	if err := j.engine.Logs(t.Context(), "", spec.Name, job.LogOptions{Lines: -1}, &logs); err != nil || strings.Count(logs.String(), "trained") != 2 {
		t.Errorf("the logs are %s, %v", logs.String(), err)
	}
}

// killed kills the node plugin while a job runs, and then the job.
func (j *jobs) killed(t *testing.T) {
	spec := j.spec("killed", "wait")
	j.submit(t, spec)
	j.until(t, spec.Name, "the job", func(r *job.Record) bool { return r.State == job.Running && r.Reason == "" })
	var logs bytes.Buffer
	j.await(t, "the training", func() bool {
		logs.Reset()
		if err := j.engine.Logs(t.Context(), "", spec.Name, job.LogOptions{Lines: -1}, &logs); err != nil {
			t.Fatal(err)
		}
		return strings.Count(logs.String(), "waiting") == 2
	})
	other := j.spec("other", "")
	err := j.engine.Submit(t.Context(), &job.Spec{
		ID: other.ID, Name: "other", User: "alice", Datacenter: j.place.name, Package: pfs.Path(j.home()) + "/jobs/killed/package", Entry: "true", Passes: 1, Image: python,
		Roles: []job.Role{{Name: job.Trainer, Replicas: 4, CPU: 100, Memory: 64 << 20}}, MaxAttempts: 1, Restart: job.RestartJob,
	})
	if !errors.Is(err, pfs.Quota) || !strings.Contains(err.Error(), "not enough pods: the job needs 4") {
		t.Errorf("a job beyond the quota: %v", err)
	}
	j.k.Kubectl(t, "", "-n", "pfs-system", "delete", "pod", "-l", "app=pfs-csi", "--force")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := j.engine.Kill(ctx, "", spec.Name, func(r *job.Record) { t.Logf("%s: %s", r.State, r.Reason) }); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		worker := job.WorkerName(job.Trainer, i)
		if last, want := j.read(t, spec, 1, worker, "last"), fmt.Sprintf("the last words of trainer %d", i); last != want {
			t.Errorf("%s wrote %q, want %q", worker, last, want)
		}
		j.committed(t, spec, 1, worker, output.Failed)
	}
	j.once(t, spec, 1)
	if left := j.k.Kubectl(t, "", "-n", job.Namespace("alice"), "get", "pods,services,jobs,statefulsets,secrets", "-l", "pfs.paddlecloud.io/job="+job.ObjectName(spec.Name), "-o", "name"); left != "" {
		t.Errorf("%s is left", left)
	}
	if r, err := j.engine.Job(t.Context(), "", spec.Name); err != nil || r.State != job.Killed || len(r.Workers) != 3 || r.Workers[1].Outputs != output.Failed {
		t.Errorf("%+v, %v", r, err)
	}
}
