package deploy_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/output"
)

// ranked is a job whose ranks start again in place. The first runs of the trainers wait for SIGUSR1.
func (j *jobs) ranked(name, mode string) *job.Spec {
	spec := j.spec(name, mode)
	spec.Restart, spec.MaxAttempts = job.RestartRank, 3
	return spec
}

// rank fails one trainer, which starts again in place.
func (j *jobs) rank(t *testing.T) {
	spec := j.ranked("rank", "fail")
	j.submit(t, spec)
	j.restarted(t, spec)
}

// restarted waits for the success of a job whose trainer 1 has been started again, once.
func (j *jobs) restarted(t *testing.T, spec *job.Spec) {
	t.Helper()
	r := j.until(t, spec.Name, "the end of the job", ended)
	if r.State != job.Succeeded || r.Attempt != 1 || r.Workers[0].Restarts != 0 || r.Workers[1].Restarts != 1 {
		t.Errorf("%s: %s: %+v", r.State, r.Reason, r.Workers)
	}
	j.committed(t, spec, 1, "trainer-0", output.Success)
	j.committed(t, spec, 1, "trainer-1", output.Failed)
	second := output.RestartDir(job.OutputDir(spec, 1, "trainer-1"), 1)
	if v, err := output.Verify(t.Context(), j.fsys, second, func(int64) {}); err != nil || v.Marker != output.Success {
		t.Errorf("the outputs after the restart: %+v, %v", v, err)
	}
}

// pod returns the name of the pod of a trainer.
func (j *jobs) pod(t *testing.T, spec *job.Spec, index int) string {
	t.Helper()
	name := j.k.Kubectl(t, "", "-n", job.Namespace("alice"), "get", "pods", "-o", "jsonpath={.items[*].metadata.name}",
		"-l", fmt.Sprintf("pfs.paddlecloud.io/job=%s,pfs.paddlecloud.io/role=trainer,batch.kubernetes.io/job-completion-index=%d", job.ObjectName(spec.Name), index))
	if name == "" || strings.Contains(name, " ") {
		t.Fatalf("trainer %d has the pods %q", index, name)
	}
	return name
}

// evict evicts a pod, as a drain of its node does. The programs handle SIGTERM and end with 0.
func (j *jobs) evict(t *testing.T, name string) {
	t.Helper()
	ns := job.Namespace("alice")
	j.k.Kubectl(t, fmt.Sprintf(`{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": %q, "namespace": %q}}`, name, ns),
		"create", "--raw", "/api/v1/namespaces/"+ns+"/pods/"+name+"/eviction", "-f", "-")
}

// evicted evicts a trainer: the whole job starts again.
func (j *jobs) evicted(t *testing.T) {
	spec := j.spec("evicted", "once")
	j.submit(t, spec)
	j.training(t, spec)
	j.evict(t, j.pod(t, spec, 1))
	j.until(t, spec.Name, "the reason", func(r *job.Record) bool { return strings.Contains(r.Reason, "trainer-1: evicted from its node") })
	j.succeeded(t, spec, 2)
	j.committed(t, spec, 1, "trainer-1", output.Failed)
	if last := j.read(t, spec, 1, "trainer-1", "last"); last != "the last words of trainer 1" {
		t.Errorf("the evicted trainer wrote %q", last)
	}
}

// evictedServer evicts the parameter server: the whole job starts again, since the sums of the server are lost.
func (j *jobs) evictedServer(t *testing.T) {
	spec := j.spec("evicted-server", "once")
	j.submit(t, spec)
	j.training(t, spec)
	j.evict(t, job.ObjectName(spec.Name)+"-1-pserver-0")
	j.until(t, spec.Name, "the reason", func(r *job.Record) bool { return strings.Contains(r.Reason, "pserver-0: evicted from its node") })
	j.succeeded(t, spec, 2)
	j.committed(t, spec, 1, "trainer-0", output.Failed)
	j.committed(t, spec, 1, "trainer-1", output.Failed)
}

// serverAway evicts the parameter server while pfsd is away: nobody sees why the pod goes, and another one takes its place.
func (j *jobs) serverAway(t *testing.T) {
	spec := j.spec("server-away", "once")
	spec.UploadWait = 10 * time.Second
	j.submit(t, spec)
	j.training(t, spec)
	ns, object := job.Namespace("alice"), job.ObjectName(spec.Name)
	j.await(t, "the record of the pod", func() bool {
		return strings.Contains(j.k.Kubectl(t, "", "-n", ns, "get", "configmap", object, "-o", "jsonpath={.data.state\\.json}"), `"servers":`)
	})
	server := object + "-1-pserver-0"
	first := j.k.Kubectl(t, "", "-n", ns, "get", "pod", server, "-o", "jsonpath={.metadata.uid}")
	j.s.stop()
	j.evict(t, server)
	j.await(t, "another pod", func() bool {
		second, err := j.k.TryKubectl("", "-n", ns, "get", "pod", server, "-o", "jsonpath={.metadata.uid}")
		return err == nil && second != first
	})
	j.s.restart(t, j.file)
	j.until(t, spec.Name, "the reason", func(r *job.Record) bool { return strings.Contains(r.Reason, "pserver-0: its pod is gone") })
	j.succeeded(t, spec, 2)
}

// evictedRank evicts a trainer that starts again in place.
func (j *jobs) evictedRank(t *testing.T) {
	spec := j.ranked("evicted-rank", "once")
	j.submit(t, spec)
	j.training(t, spec)
	j.evict(t, j.pod(t, spec, 1))
	j.until(t, spec.Name, "the restart", func(r *job.Record) bool { return r.Workers[1].Restarts == 1 && r.Workers[1].State == job.Running })
	kill(t, j.trainers(t, spec, "train.py"), syscall.SIGUSR1)
	j.restarted(t, spec)
}

// preempted lets a pod of higher priority take the place of the job, and then end.
func (j *jobs) preempted(t *testing.T) {
	spec := j.spec("preempted", "once")
	j.submit(t, spec)
	j.training(t, spec)
	remove := j.occupy(t, 1_000_000, 300)
	j.until(t, spec.Name, "the reason", func(r *job.Record) bool {
		return strings.Contains(r.Reason, "preempted: a pod of higher priority needed its place")
	})
	remove()
	j.succeeded(t, spec, 2)
}

// occupy starts a pod of a priority that leaves only some thousandths of a processor free, and returns how to remove it.
func (j *jobs) occupy(t *testing.T, priority, free int) (remove func()) {
	t.Helper()
	cpu := strings.TrimSpace(j.k.Kubectl(t, "", "get", "node", "node1", "-o", "jsonpath={.status.allocatable.cpu}"))
	manifest := fmt.Sprintf(`
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: occupant}
value: %d
---
apiVersion: v1
kind: Pod
metadata: {name: occupant, namespace: default}
spec:
  priorityClassName: occupant
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: docker.io/testbed/pause:1, resources: {requests: {cpu: %dm}}}]
`, priority, 1000*atoi(t, cpu)-free)
	remove = func() { j.k.TryKubectl(manifest, "delete", "--ignore-not-found", "--timeout=1m", "-f", "-") }
	t.Cleanup(remove)
	j.k.Kubectl(t, manifest, "apply", "-f", "-")
	return remove
}

func atoi(t *testing.T, s string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// nodeAgent kills the kubelet while a job runs.
func (j *jobs) nodeAgent(t *testing.T) {
	spec := j.spec("node-agent", "idle")
	j.submit(t, spec)
	j.training(t, spec)
	j.k.Signal(t, "kubelet", "KILL")
	j.signal(t, spec, "train.py", syscall.SIGUSR1) // the programs end while it is away
	j.succeeded(t, spec, 1)
}

// lostNode stops the kubelet, and has an administrator say that the node is out of service. When it is back, the job starts again.
func (j *jobs) lostNode(t *testing.T) {
	spec := j.spec("lost-node", "once")
	spec.UploadWait = 20 * time.Second
	j.submit(t, spec)
	j.training(t, spec)
	j.k.Signal(t, "kubelet", "STOP")
	const taint = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
	back := func() {
		j.k.TryKubectl("", "taint", "node", "node1", taint+"-")
		j.k.Signal(t, "kubelet", "CONT")
	}
	t.Cleanup(back)
	j.await(t, "the loss of the node", func() bool {
		out, _ := j.k.TryKubectl("", "get", "node", "node1")
		return strings.Contains(out, "NotReady")
	})
	j.k.Kubectl(t, "", "taint", "node", "node1", taint)
	j.until(t, spec.Name, "the reason", func(r *job.Record) bool { return strings.Contains(r.Reason, "its node is gone") })
	back()
	j.succeeded(t, spec, 2)
	if m, err := output.ReadMarker(t.Context(), j.fsys, job.OutputDir(spec, 1, "trainer-1")); err != nil || m == nil || m.Name == output.Success {
		t.Errorf("the marker of the lost trainer is %+v, %v", m, err)
	}
}

// apiServer has the API server away for 30 seconds, in which the programs end.
func (j *jobs) apiServer(t *testing.T) {
	spec := j.spec("api-server", "idle")
	j.submit(t, spec)
	j.training(t, spec)
	j.k.Signal(t, "apiserver", "STOP")
	back := time.AfterFunc(30*time.Second, func() { j.k.Signal(t, "apiserver", "CONT") })
	t.Cleanup(func() {
		if back.Stop() {
			j.k.Signal(t, "apiserver", "CONT")
		}
	})
	j.signal(t, spec, "train.py", syscall.SIGUSR1)
	if r, err := j.engine.Job(t.Context(), "", spec.Name); err != nil || r.State.Ended() { // it waits, and is never "not found"
		t.Errorf("%+v, %v", r, err)
	}
	j.succeeded(t, spec, 1)
}

// serviceAway has pfsd away while the outputs are uploaded: for a moment, and for longer than the upload may take.
func (j *jobs) serviceAway(t *testing.T) {
	for name, c := range map[string]struct {
		away, wait time.Duration
		state      job.State
	}{
		"away-short": {10 * time.Second, 2 * time.Minute, job.Succeeded},
		"away-long":  {40 * time.Second, 10 * time.Second, job.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			spec := j.spec(name, "idle")
			spec.UploadWait, spec.Env["BIG"] = c.wait, "8"
			j.submit(t, spec)
			j.training(t, spec)
			j.s.stop()
			j.signal(t, spec, "train.py", syscall.SIGUSR1)
			time.Sleep(c.away)
			j.s.restart(t, j.file)
			r := j.until(t, name, "the end of the job", ended)
			if r.State != c.state {
				t.Fatalf("%s: %s: %+v", r.State, r.Reason, r.Workers)
			}
			if r.State == job.Succeeded {
				j.committed(t, spec, 1, "trainer-0", output.Success)
				return
			}
			m, err := output.ReadMarker(t.Context(), j.fsys, job.OutputDir(spec, 1, "trainer-0"))
			if err != nil || m == nil || m.Name != output.Incomplete || !strings.Contains(strings.Join(m.Reasons, " "), "connection refused") {
				t.Errorf("the marker is %+v, %v", m, err)
			}
		})
	}
}

// submitKilled kills pfsd at several moments of a submit, for 2 seconds. The job runs, or there is nothing of it and its name is free.
func (j *jobs) submitKilled(t *testing.T) {
	submit := func(name string) *exec.Cmd {
		return j.command(t, "submit", "--datacenter", j.place.name, "-jobname", name, "-image", python, "-cpu", "100m", "-memory", "64Mi", "-pservers", "1", "-pscpu", "100m", "-psmemory", "64Mi",
			"-entry", `[ "$TRAINING_ROLE" = PSERVER ] && sleep 1000; echo done >$PFS_OUTPUT/done`, j.program)
	}
	succeed := func(t *testing.T, name string) {
		if r := j.until(t, name, "the end of the job", ended); r.State != job.Succeeded || r.Attempt != 1 {
			t.Errorf("%s after %d attempts: %s", r.State, r.Attempt, r.Reason)
		}
		j.s.paddlectl(t, "", "get", "outputs", "--datacenter", j.place.name, name)
	}
	began := time.Now()
	if err := submit("undisturbed").Run(); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(began)
	succeed(t, "undisturbed")
	for _, percent := range []int{20, 50, 70, 80, 90} {
		name := fmt.Sprintf("killed-at-%d", percent)
		t.Run(name, func(t *testing.T) {
			c := submit(name)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(whole * time.Duration(percent) / 100)
			j.s.stop()
			time.Sleep(2 * time.Second)
			j.s.restart(t, j.file)
			if err := c.Wait(); err != nil {
				t.Logf("submit: %v", err)
				if code := c.ProcessState.ExitCode(); code != 6 && code != 1 {
					t.Errorf("submit ended with %d", code)
				}
				if left := j.k.Kubectl(t, "", "-n", job.Namespace("alice"), "get", "configmaps,secrets,services,jobs,statefulsets,pods", "-o", "name"); strings.Contains(left, job.ObjectName(name)) {
					t.Errorf("there are still\n%s", left)
				}
				if err := submit(name).Run(); err != nil {
					t.Fatal(err)
				}
			}
			succeed(t, name)
		})
	}
}

// tokens lets the token of the pods expire while the programs do nothing.
func (j *jobs) tokens(t *testing.T) {
	j.life = "1m"
	j.file = j.config(t)
	j.s.restart(t, j.file)
	spec := j.spec("expired", "idle")
	spec.UploadWait = 4 * time.Minute
	j.submit(t, spec)
	j.training(t, spec)
	time.Sleep(80 * time.Second)
	j.signal(t, spec, "train.py", syscall.SIGUSR1)
	j.succeeded(t, spec, 1)
}

// converted makes a dataset by a job: the job is killed and resumed, a worker is killed, and a pod is evicted.
func (j *jobs) converted(t *testing.T) {
	source := filepath.Join(t.TempDir(), "table.csv")
	var text strings.Builder
	text.WriteString("n,text\n")
	for i := range 1_000_000 {
		fmt.Fprintf(&text, "%d,\"word\n%d of a table\"\n", i, i*i)
	}
	if err := os.WriteFile(source, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	j.s.paddlectl(t, "", "cp", source, j.home()+"/table.csv")
	convert := func(to string, more ...string) *exec.Cmd {
		args := append([]string{"dataset", "convert", "--output-path", j.home() + "/" + to, "--name-prefix", "d", "--num-shards", "9", "--compressor", "gzip"}, more...)
		return j.command(t, append(args, j.home()+"/table.csv")...)
	}
	if err := convert("one").Run(); err != nil {
		t.Fatal(err)
	}
	start := func(name string, more ...string) (*exec.Cmd, *job.Spec) {
		c := convert("two", append(more, "--on", j.place.name, "--workers", "2", "--jobname", name)...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		j.await(t, "the workers of "+name, func() bool { return len(j.workers(t, name)) == 2 })
		return c, &job.Spec{Name: name}
	}
	c, _ := start("conv-1")
	j.s.paddlectl(t, "", "kill", "--datacenter", j.place.name, "conv-1")
	if err := c.Wait(); err == nil {
		t.Error("a conversion whose job was killed has succeeded")
	}
	c, spec := start("conv-2", "--resume")
	if err := syscall.Kill(j.workers(t, "conv-2")[0], syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	j.evict(t, j.pod(t, spec, 1))
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	t.Log(j.s.paddlectl(t, "", "get", "workers", "--datacenter", j.place.name, "conv-2"))
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		j.s.paddlectl(t, "", "cp", "-r", j.home()+"/"+name, dir)
	}
	if out, err := exec.Command("diff", "-r", filepath.Join(dir, "one"), filepath.Join(dir, "two")).CombinedOutput(); err != nil {
		t.Fatalf("the workers made other bytes: %v\n%s", err, out)
	}
	sum, err := exec.Command("sh", "-c", "cd $0 && ls | wc -l && cat * | wc -c && cat * | sha256sum", filepath.Join(dir, "two")).Output()
	t.Logf("files, bytes and digest of both: %s, %v", strings.Join(strings.Fields(string(sum)), " "), err)
}

// command returns a command of paddlectl whose output is logged.
func (j *jobs) command(t *testing.T, args ...string) *exec.Cmd {
	c := exec.CommandContext(t.Context(), filepath.Join(j.s.bin, "paddlectl"), args...)
	c.Env, c.Stdout, c.Stderr = j.s.env, t.Output(), t.Output()
	return c
}

// crowded converts by workers for which there is no place at first, and by more than the quota admits.
func (j *jobs) crowded(t *testing.T) {
	source := filepath.Join(t.TempDir(), "lines.txt")
	if err := os.WriteFile(source, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j.s.paddlectl(t, "", "cp", source, j.home()+"/lines.txt")
	convert := func(name string, workers int) (*exec.Cmd, *os.File) {
		c := j.command(t, "dataset", "convert", "--on", j.place.name, "--workers", fmt.Sprint(workers), "--jobname", name, "--name-prefix", "d", "--output-path", j.home()+"/"+name,
			"--format", "text", "--payload", "raw", "--num-shards", "2", j.home()+"/lines.txt")
		said, err := os.Create(filepath.Join(t.TempDir(), "said"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { said.Close() })
		c.Stderr = said
		return c, said
	}
	text := func(f *os.File) string {
		said, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(said)
	}
	c, said := convert("beyond", 7)
	if err := c.Run(); err == nil || !strings.Contains(text(said), "not enough pods: the job needs 7 (7 trainers 7, with what runs beside them), and 6 of 6 are free") {
		t.Errorf("a conversion beyond the quota: %v, %s", err, text(said))
	}
	remove := j.occupy(t, 0, 900)
	c, said = convert("crowded", 2)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	const want = "the job crowded waits: 1 of 2 processes wait for peers; trainer-"
	j.await(t, "the reason", func() bool {
		return strings.Contains(text(said), want) && strings.Contains(text(said), "no node has what its pod needs, ") && strings.Contains(text(said), "1 Insufficient cpu")
	})
	remove()
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %s", err, text(said))
	}
	t.Log(text(said))
	j.s.paddlectl(t, "", "dataset", "verify", j.home()+"/crowded")
}

// image submits a job whose image nobody has.
func (j *jobs) image(t *testing.T) {
	const image = "docker.io/testbed/missing:1"
	c := j.command(t, "submit", "--datacenter", j.place.name, "--wait", "-jobname", "no-image", "-image", image, "-cpu", "100m", "-memory", "64Mi", "--max-attempts", "2", "-entry", "true", j.program)
	var said bytes.Buffer
	c.Stderr = &said
	err := c.Run()
	t.Log(said.String())
	want := `the job "no-image" is Failed: trainer-0: the image ` + image + " cannot be pulled: "
	if c.ProcessState.ExitCode() != 1 || !strings.Contains(said.String(), want) {
		t.Errorf("submit --wait: %v, want %s", err, want)
	}
	if r, err := j.engine.Job(t.Context(), "", "no-image"); err != nil || r.Attempt != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// workers returns the processes of the workers of a conversion.
func (j *jobs) workers(t *testing.T, name string) []int {
	t.Helper()
	return j.trainers(t, &job.Spec{Name: name}, "convert-worker")
}
