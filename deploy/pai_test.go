package deploy_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/output"
	"github.com/paddlecloud/pfs/internal/testbed"
)

// paiImage is an image like those of OpenPAI: a shell, its programs, Python with pip, and HdfsCLI.
const paiImage = "docker.io/testbed/pai:1"

func (p pods) loadPAIImage(t *testing.T) {
	t.Helper()
	tree, archive := filepath.Join(t.TempDir(), "usr"), filepath.Join(p.bin, "pai.tar")
	script := `set -e
venv=$(../python/venv.sh hdfs)
library=$(/usr/bin/python3 -c "import sysconfig; print(sysconfig.get_path('stdlib'))")
to=$1/lib/$(basename $library)
mkdir -p $1/lib $1/bin
cp -rL $library $to 2>/dev/null || true # links that lead nowhere
cd $to
rm -rf test idlelib lib2to3 ensurepip pydoc_data config-* turtledemo tkinter dist-packages EXTERNALLY-MANAGED
packages=$($venv -c "import sysconfig; print(sysconfig.get_path('purelib'))")
cd $packages
cp -rL pip future libfuturize libpasteurize past hdfs requests urllib3 idna certifi charset_normalizer docopt.py six.py pip-*.dist-info future-*.dist-info $to/
find $to -name __pycache__ -prune -exec rm -r {} +
printf '#!/bin/sh\nexec python3 -m pip "$@"\n' >$1/bin/pip3
chmod 755 $1/bin/pip3
`
	programs := []string{"python3", "bash", "sh", "ls", "chmod", "mkdir", "cat", "cp", "sleep", "getent"}
	commands := [][]string{{"bash", "-c", script, "bash", tree}}
	image := []string{filepath.Join(p.bin, "image"), "-o", archive, "-name", paiImage, "-libraries", "-tree", "usr=" + tree}
	for _, name := range programs {
		commands = append(commands, []string{"cp", "-L", "/usr/bin/" + name, filepath.Join(p.bin, name)})
		image = append(image, filepath.Join(p.bin, name))
	}
	for _, c := range append(commands, image) {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", c[0], err, out)
		}
	}
	p.k.Load(t, archive)
}

// TestPAIJobs runs jobs of OpenPAI: that of the guide "train on PAI", with its program as it stands there, and one whose roles have
// rules of completion.
func TestPAIJobs(t *testing.T) {
	testbed.Long(t)
	p := newPods(t)
	p.applyPlugin(t)
	p.loadPAIImage(t)
	j := newJobs(t, p, place{
		name: "local", store: "file://" + filepath.Join(p.s.data, "store"), mount: "plugin", quota: "pods=6, requests.cpu=4, limits.memory=8Gi", life: "1h",
	})
	l, err := net.Listen("tcp", net.JoinHostPort(p.k.Host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	gateway := l.Addr().String()
	l.Close()
	config, err := os.ReadFile(j.file)
	if err == nil {
		err = os.WriteFile(j.file, append(config, "webhdfs: {listen: \""+gateway+"\", trust-user-name: true, tls: false}\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.s.restart(t, j.file)
	small := []string{"-image", paiImage, "--env", "PATH=/bin:/usr/bin", "-cpu", "100m", "-gpu", "0", "-memory", "256Mi"}
	t.Run("Guide", func(t *testing.T) { j.guide(t, gateway, small) })
	t.Run("Rules", func(t *testing.T) { j.rules(t, small) })
}

// write makes a local file, and returns its name.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	name = filepath.Join(dir, name)
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// guide runs the job of the guide.
func (j *jobs) guide(t *testing.T, gateway string, flags []string) {
	program, err := os.ReadFile("../cmd/pfsd/testdata/run_samples.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "code/run_samples.py", strings.NewReplacer("YOUR_HDFS_URL", "http://"+gateway, "YOUR_HDFS_USERNAME", "alice", "YOUR_PROJECT_ROOT_DIR", j.home()+"/demo").Replace(string(program)))
	write(t, dir, "code/train.sh", "#!/bin/bash\nmkdir -p output && cat data/train.txt.up data/train.txt.down >output/model && cp output/model $PAI_OUTPUT_DIR/\n")
	write(t, dir, "data/train.txt.up", "up\n")
	write(t, dir, "data/train.txt.down", "down\n")
	j.s.paddlectl(t, "", "mkdir", j.home()+"/demo")
	j.s.paddlectl(t, "", "cp", "-r", filepath.Join(dir, "data"), j.home()+"/demo/")
	j.s.paddlectl(t, "", "cp", "-r", filepath.Join(dir, "code")+"/", j.home()+"/train_couplet_demo")
	j.s.paddlectl(t, "", append([]string{"submit", "../internal/job/jobfile/testdata/jobs/couplet.json"}, flags...)...)
	r := j.until(t, "train-couplet-demo", "the end of the job", ended)
	if r.State != job.Succeeded {
		t.Fatalf("the job is %s: %s", r.State, r.Reason)
	}
	j.committed(t, &r.Spec, 1, "demo_001-0", output.Success)
	for _, name := range []string{"/jobs/train-couplet-demo/attempts/1/demo_001-0/model", "/demo/output/train_couplet_demo/model"} {
		if got := j.s.paddlectl(t, "", "cat", j.home()+name); got != "up\ndown\n" {
			t.Errorf("%s has %q", name, got)
		}
	}
}

// rules runs a job that is over when both workers have succeeded, of three tasks of another role one fails, and the parameter server never
// ends. The first attempt fails.
func (j *jobs) rules(t *testing.T, flags []string) {
	file := write(t, t.TempDir(), "job.json", `{"jobName": "rules", "image": "x", "retryCount": 1, "taskRoles": [
{"name": "ps", "taskNumber": 1, "command": "echo serving; while :; do sleep 1; done"},
{"name": "some", "taskNumber": 3, "minFailedTaskCount": 2, "command": "exit $((PAI_TASK_INDEX == 1))"},
{"name": "worker", "taskNumber": 2, "minSucceededTaskCount": 2, "portList": [{"label": "rpc", "portNumber": 2}],
 "command": "[ $PFS_ATTEMPT = 2 ] || exit 3; sleep 5; getent hosts ${PAI_TASK_ROLE_ps_HOST_LIST%:*} && echo $PAI_worker_1_rpc_PORT >$PAI_OUTPUT_DIR/ports"}
]}`)
	j.s.paddlectl(t, "", append([]string{"submit", file}, flags...)...)
	j.until(t, "rules", "the second attempt", func(r *job.Record) bool { return r.Attempt == 2 })
	j.until(t, "rules", "the end of its workers", func(r *job.Record) bool { return r.State == job.Uploading })
	r := j.until(t, "rules", "the end of the job", ended)
	if r.State != job.Succeeded || r.Attempt != 2 {
		t.Fatalf("the job is %s in attempt %d: %s", r.State, r.Attempt, r.Reason)
	}
	for _, worker := range []string{"worker-0", "worker-1", "some-0", "some-2"} {
		j.committed(t, &r.Spec, 2, worker, output.Success)
	}
	for _, worker := range []string{"ps-0", "some-1"} {
		j.committed(t, &r.Spec, 2, worker, output.Failed)
	}
	if got := j.read(t, &r.Spec, 2, "worker-0", "ports"); got != "6172,6173\n" {
		t.Errorf("the ports are %q", got)
	}
}
