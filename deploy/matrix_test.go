package deploy_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/output"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// TestJobs runs jobs on a real Kubernetes: with the mounts of the node plugin and a real HDFS behind pfsd, and with those of a
// sidecar and a real CephFS.
func TestJobs(t *testing.T) {
	testbed.Long(t)
	p := newPods(t)
	p.applyPlugin(t)
	const quota = "pods=6, requests.cpu=4"
	t.Run("HDFS", func(t *testing.T) {
		c := testbed.HDFS(t)
		matrix(t, p, place{name: "hdfs", store: "hdfs://" + c.Scratch(t), options: "conf-dir: " + c.ConfDir + ", block-size: 1M, part-size: 32M", quota: quota, mount: "plugin", life: "1h"})
	})
	t.Run("CephFS", func(t *testing.T) {
		c := testbed.Ceph(t)
		if out, err := exec.Command("go", "build", "-trimpath", "-tags=ceph", "-o", p.bin, "../cmd/pfsd").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		matrix(t, p, place{name: "ceph", store: "cephfs://" + c.Monitors + "/" + c.FileSystem, options: "user: " + c.User + ", keyring: " + c.Keyring, quota: quota, mount: "sidecar", life: "1h"})
	})
}

// matrix runs one job for each way in which a trainer ends.
func matrix(t *testing.T, p pods, at place) {
	j := newJobs(t, p, at)
	t.Run("Retried", j.retried)
	t.Run("Memory", j.memory)
	t.Run("Uploader", j.uploader)
	t.Run("Killed", j.killed)
	t.Run("Rank", j.rank)
	t.Run("Evicted", j.evicted)
	t.Run("EvictedRank", j.evictedRank)
	t.Run("EvictedServer", j.evictedServer)
	t.Run("ServerAway", j.serverAway)
	t.Run("Preempted", j.preempted)
	t.Run("NodeAgent", j.nodeAgent)
	t.Run("LostNode", j.lostNode)
	t.Run("APIServer", j.apiServer)
	t.Run("ServiceAway", j.serviceAway)
	t.Run("SubmitKilled", j.submitKilled)
	t.Run("Image", j.image)
	t.Run("Crowded", j.crowded)
	t.Run("Converted", j.converted)
	t.Run("Pages", j.pages)
	t.Run("Tokens", j.tokens)
}

// succeeded waits for the success of a job in an attempt, and checks and logs what it left.
func (j *jobs) succeeded(t *testing.T, spec *job.Spec, attempt int) {
	t.Helper()
	r := j.until(t, spec.Name, "the end of the job", ended)
	if r.State != job.Succeeded || r.Attempt != attempt {
		t.Errorf("%s after %d attempts: %s", r.State, r.Attempt, r.Reason)
	}
	for i := range 2 {
		worker := job.WorkerName(job.Trainer, i)
		j.committed(t, spec, attempt, worker, output.Success)
		sum, err := digest.Stored(t.Context(), j.fsys, job.OutputDir(spec, attempt, worker).Join("records"), digest.XXH3, nil)
		t.Logf("the records of %s: %s, %v", worker, sum, err)
	}
	j.once(t, spec, attempt)
}

// memory has trainer 1 use more memory than its limit; the second attempt succeeds.
func (j *jobs) memory(t *testing.T) {
	spec := j.spec("memory", "memory")
	j.submit(t, spec)
	const reason = "out of memory: killed at its limit of 128Mi"
	j.until(t, spec.Name, "the reason", func(r *job.Record) bool { return strings.Contains(r.Reason, "trainer-1: "+reason) })
	j.succeeded(t, spec, 2)
	m, err := output.ReadMarker(t.Context(), j.fsys, job.OutputDir(spec, 1, "trainer-1"))
	// The kernel kills the program, or with control groups of version 2 the container with the launcher, too.
	if err != nil || m == nil || m.Exit != nil && m.Name != output.Failed || m.Exit == nil && m.Name != output.Incomplete {
		t.Errorf("the marker of the killed trainer is %+v, %v", m, err)
	}
}

// uploader kills the uploaders of both trainers while the program runs; nothing is lost.
func (j *jobs) uploader(t *testing.T) {
	spec := j.spec("uploader", "idle")
	spec.Env["BIG"] = "32"
	j.submit(t, spec)
	j.training(t, spec)
	killed := j.signal(t, spec, "upload", syscall.SIGKILL)
	j.await(t, "new uploaders", func() bool {
		return len(j.trainers(t, spec, "upload")) == 2 && fmt.Sprint(j.trainers(t, spec, "upload")) != fmt.Sprint(killed)
	})
	j.signal(t, spec, "train.py", syscall.SIGUSR1)
	j.succeeded(t, spec, 1)
}

// training waits until both trainers wait.
func (j *jobs) training(t *testing.T, spec *job.Spec) {
	t.Helper()
	j.await(t, "the training", func() bool {
		var logs bytes.Buffer
		err := j.engine.Logs(t.Context(), "", spec.Name, job.LogOptions{Lines: -1}, &logs)
		return err == nil && strings.Count(logs.String(), "waiting") == 2
	})
}

// trainers returns the processes of the job's trainers with an argument, and not the shells and launchers above them.
func (j *jobs) trainers(t *testing.T, spec *job.Spec, argument string) (found []int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		args, _ := os.ReadFile(dir + "/cmdline") // the process may have ended
		env, _ := os.ReadFile(dir + "/environ")
		if !bytes.Contains(args, []byte("\x00"+argument+"\x00")) || !bytes.Contains(env, []byte("PFS_ROLE=trainer\x00")) ||
			!bytes.Contains(env, []byte("="+attemptHost(spec))) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, pid)
	}
	return found
}

// attemptHost is how the names of the pods of the first attempt begin.
func attemptHost(spec *job.Spec) string { return job.ObjectName(spec.Name) + "-1-trainer-" }

// signal sends a signal to the process of each of the two trainers with an argument.
func (j *jobs) signal(t *testing.T, spec *job.Spec, argument string, s syscall.Signal) []int {
	t.Helper()
	list := j.trainers(t, spec, argument)
	if len(list) != 2 {
		t.Fatalf("%d processes of trainers have the argument %s", len(list), argument)
	}
	return kill(t, list, s)
}

// kill sends a signal to processes, and returns them.
func kill(t *testing.T, list []int, s syscall.Signal) []int {
	t.Helper()
	for _, pid := range list {
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
	return list
}
