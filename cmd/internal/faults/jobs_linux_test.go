package faults

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// jobs is a service with the housing table in the home of alice, and a package that trains with it.
type jobs struct {
	*scene
	env []string
}

func newJobs(t *testing.T) *jobs {
	t.Helper()
	s := newScene(t)
	j := &jobs{scene: s, env: []string{"XDG_STATE_HOME=" + filepath.Join(s.work, "state"), "XDG_CACHE_HOME=" + filepath.Join(s.work, "cache"), "PYTHONDONTWRITEBYTECODE=1"}}
	const top = "../../../"
	j.do(0, "dataset", "convert", "--output-path", filepath.Join(s.work, "dataset"), "--name-prefix", "housing", "--line-count", "100",
		"--no-header", "--delimiter", "space", "--label", "14", absolute(t, top+"recordio/convert/testdata/housing/housing.data"))
	j.do(0, "cp", "-r", filepath.Join(s.work, "dataset"), "/pfs/local/home/alice/")
	pkg := filepath.Join(s.work, "package")
	must(t, os.CopyFS(pkg, os.DirFS(top+"testdata/fit_a_line")))
	must(t, os.CopyFS(filepath.Join(pkg, "recordio"), os.DirFS(top+"python/recordio")))
	return j
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	name, err := filepath.Abs(name)
	must(t, err)
	return name
}

// do runs paddlectl and returns what it prints.
func (j *jobs) do(code int, args ...string) string {
	j.Helper()
	c := j.command("", args...)
	c.Env = append(c.Env, j.env...)
	got, out := j.run(c)
	if got != code {
		j.Fatalf("paddlectl %s: exit %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	return out
}

// train runs a job to its end and returns its log.
func (j *jobs) train(name string, args ...string) string {
	j.Helper()
	j.Cleanup(func() { // before the service ends, since the job may have a mount of it
		c := j.command("", "kill", name)
		c.Env = append(c.Env, j.env...)
		j.run(c)
	})
	args = append([]string{"submit", "-jobname", name, "--env", "DATASET=/pfs/local/home/alice/dataset", "--follow"}, args...)
	return j.do(0, append(args, filepath.Join(j.work, "package"))...)
}

// TestJob trains a line with two trainers and a parameter server, which see /pfs by a mount.
func TestJob(t *testing.T) {
	t.Parallel()
	needMount(t)
	j := newJobs(t)
	log := j.train("fit.A-line", "-parallelism", "2", "-pservers", "1", "-passes", "5", "-entry", "python3 train.py")
	for _, want := range []string{"300 records", "206 records", "pass 4, loss"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
	j.do(0, "get", "outputs", "fit.A-line")
	if model := j.do(0, "cat", "/pfs/local/home/alice/jobs/fit.A-line/attempts/1/trainer-0/model.json"); !strings.Contains(model, "weights") {
		t.Errorf("model %q", model)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	must(t, err)
	if strings.Contains(string(mounts), j.work) {
		t.Errorf("a mount is left:\n%s", mounts)
	}
	j.do(0, "delete", "fit.A-line")
	if left, _ := filepath.Glob(filepath.Join(j.work, "state/pfs/jobs/*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestRunCommand: the exit code is that of the program, and its outputs are kept however it ends.
func TestRunCommand(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.env = append(j.env, "PFS_ROOT="+j.work)
	pkg, dataset := filepath.Join(j.work, "package"), "/pfs/local/home/alice/dataset"
	out := j.do(0, "run", "-jobname", "good", "--input", dataset, "-entry", `ls $PFS_INPUTS/local/home/alice/dataset | tee $PFS_OUTPUT/list`, pkg)
	if !strings.Contains(out, "housing-00000-of-00006\n") || !strings.Contains(out, "good Succeeded") {
		t.Errorf("run printed %q", out)
	}
	j.do(0, "get", "outputs", "good")
	out = j.do(0, "run", "-jobname", "again", "--max-attempts", "3", "-entry", `echo try $PFS_ATTEMPT; test $PFS_ATTEMPT = 3`, pkg)
	for _, want := range []string{"try 1\n", "try 2\n", "try 3\n"} { // also the log of an attempt that ended before its log was asked for
		if strings.Count(out, want) != 1 {
			t.Errorf("run printed %q, want %q once", out, want)
		}
	}
	piped := j.command("name: piped\nentry: \"true\"\n", "submit", "--dry-run", "-", pkg)
	piped.Env = append(piped.Env, j.env...)
	if code, out := j.run(piped); code != 0 || !strings.Contains(out, "name: piped") {
		t.Errorf("submit of standard input: exit %d: %s", code, out)
	}
	out = j.do(7, "run", "-jobname", "bad", "-entry", `echo kept >$PFS_OUTPUT/kept; exit 7`, pkg)
	if !strings.Contains(out, "exit code 7") {
		t.Errorf("run printed %q", out)
	}
	c := j.command("", "run", "-jobname", "ended", "-entry", `trap "echo last words; exit 1" TERM; echo kept >$PFS_OUTPUT/kept; echo started; sleep 1000 & wait`, pkg)
	c.Env = append(c.Env, j.env...)
	stdout, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "started" {
	}
	must(t, c.Process.Signal(syscall.SIGTERM))
	for lines.Scan() && lines.Text() != "last words" {
	}
	if lines.Text() != "last words" {
		t.Error("what the program wrote after SIGTERM was not printed")
	}
	if code := exitCode(c.Wait()); code != 130 {
		t.Errorf("after SIGTERM: exit %d", code)
	}
	for _, name := range []string{"bad", "ended"} {
		if kept := j.do(0, "cat", "/pfs/local/home/alice/jobs/"+name+"/attempts/1/trainer-0/kept"); kept != "kept\n" {
			t.Errorf("%s: %q", name, kept)
		}
		j.do(0, "cat", "/pfs/local/home/alice/jobs/"+name+"/attempts/1/trainer-0/_FAILED")
	}
}

// TestPaddle trains with PaddlePaddle: two trainers learn as one does, a trainer that is killed in the
// middle ends the attempt, and the next one goes on from the checkpoint with the data.
func TestPaddle(t *testing.T) {
	testbed.Long(t)
	venv := exec.Command("../../../python/venv.sh", "paddle")
	venv.Stderr = os.Stderr
	path, err := venv.Output()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("PaddlePaddle cannot be installed: %v", err)
	}
	j := newJobs(t)
	must(t, os.Mkdir(filepath.Join(j.work, "pfs"), 0o755))
	must(t, os.Symlink(filepath.Join(j.data, "store"), filepath.Join(j.work, "pfs/local")))
	j.env = append(j.env, "PFS_ROOT="+filepath.Join(j.work, "pfs"), "PADDLE_DISTRI_BACKEND=gloo")
	entry := strings.TrimSpace(string(path)) + " train_paddle.py"

	j.train("one", "-passes", "3", "--env", "BATCH=22", "-entry", entry)
	one := j.loss("one", 1)
	log := j.train("two", "-parallelism", "2", "-passes", "3", "--env", "BATCH=11", "--env", "FAIL_AT=30", "--max-attempts", "2", "-entry", entry)
	const cursor = 110 // of the last checkpoint before step 30: step 28, the fifth of the second pass
	if want := fmt.Sprintf("resumed at pass 1, record %d", cursor); !strings.Contains(log, want) {
		t.Errorf("the log has no %q:\n%s", want, log)
	}
	two := j.loss("two", 2)
	if first := 122.1; math.Abs(one-two) > 1e-3*one || two > first/2 {
		t.Errorf("the loss of one trainer is %v, that of two is %v; in the first pass it is %v", one, two, first)
	}
	j.do(0, "get", "outputs", "two")
	if out := j.do(8, "get", "outputs", "two", "--attempt", "1"); strings.Count(out, "_FAILED") != 2 || strings.Count(out, " yes ") != 2 { // verified
		t.Errorf("get outputs of the first attempt printed %s", out)
	}

	read := map[int]map[string]int{1: {}, 2: {}} // by pass: how often each record was read
	for trainer := range 2 {
		seen := 0
		for _, r := range j.read("two", 1, trainer) {
			if r.Pass == 1 && seen < cursor/2 {
				seen++
				read[1][fmt.Sprint(r.Record)]++
			}
		}
		for _, r := range j.read("two", 2, trainer) {
			if read[r.Pass] == nil {
				t.Fatalf("the second attempt read %+v", r)
			}
			read[r.Pass][fmt.Sprint(r.Record)]++
		}
	}
	for pass, records := range read {
		for record, n := range records {
			if n != 1 {
				t.Errorf("pass %d: %s was read %d times", pass, record, n)
			}
		}
		if len(records) != 506 {
			t.Errorf("pass %d: %d of 506 records were read", pass, len(records))
		}
	}
}

// output returns an output of a trainer, as the store has it.
func (j *jobs) output(name string, attempt, trainer int, file string) *os.File {
	j.Helper()
	f, err := os.Open(filepath.Join(j.home, "jobs", name, "attempts", fmt.Sprint(attempt), fmt.Sprintf("trainer-%d", trainer), file))
	must(j.T, err)
	j.Cleanup(func() { f.Close() })
	return f
}

func (j *jobs) loss(name string, attempt int) float64 {
	j.Helper()
	var model struct{ Loss float64 }
	must(j.T, json.NewDecoder(j.output(name, attempt, 0, "model.json")).Decode(&model))
	return model.Loss
}

type readRecord struct {
	Pass   int
	Record []float64
}

func (j *jobs) read(name string, attempt, trainer int) (records []readRecord) {
	j.Helper()
	lines := bufio.NewScanner(j.output(name, attempt, trainer, "read.jsonl"))
	for lines.Scan() {
		var r readRecord
		if json.Unmarshal(lines.Bytes(), &r) == nil { // the last line of a killed trainer may be cut off
			records = append(records, r)
		}
	}
	must(j.T, lines.Err())
	return records
}
