package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPAIJob runs the job of the guide "train on PAI" from its file, with its program as it stands there: HdfsCLI downloads from
// the WebHDFS of the service and uploads to it. Only the three variables of the program are set, and this machine has no GPU.
func TestPAIJob(t *testing.T) {
	t.Parallel()
	venv := exec.Command("../../../python/venv.sh", "hdfs")
	venv.Stderr = os.Stderr
	python, err := venv.Output()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no Python with HdfsCLI: %v", err)
		}
		t.Skipf("no Python with HdfsCLI: %v", err)
	}
	config, gateway := filepath.Join(t.TempDir(), "pfsd.yaml"), freeAddress(t)
	must(t, os.WriteFile(config, []byte("webhdfs: {trust-user-name: true}\n"), 0o600))
	s := newScene(t, "--config", config, "--webhdfs", gateway)
	j := &jobs{scene: s, env: []string{"XDG_STATE_HOME=" + filepath.Join(s.work, "state"), "XDG_CACHE_HOME=" + filepath.Join(s.work, "cache"),
		"PFS_ROOT=" + s.work, "PATH=" + filepath.Dir(strings.TrimSpace(string(python))) + ":" + os.Getenv("PATH")}}

	const home = "/pfs/local/home/alice"
	program, err := os.ReadFile("../../pfsd/testdata/run_samples.py")
	must(t, err)
	set := strings.NewReplacer("YOUR_HDFS_URL", "http://"+gateway, "YOUR_HDFS_USERNAME", "alice", "YOUR_PROJECT_ROOT_DIR", home+"/demo").Replace(string(program))
	for name, text := range map[string]string{
		"code/run_samples.py": set,
		"code/train.sh":       "#!/bin/bash\nmkdir -p output && cat data/train.txt.up data/train.txt.down >output/model && cp output/model $PAI_OUTPUT_DIR/ && echo trained in $PAI_CODE_DIR\n",
		"data/train.txt.up":   "up\n", "data/train.txt.down": "down\n",
	} {
		name = filepath.Join(s.work, name)
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(text), 0o644))
	}
	j.do(0, "mkdir", home+"/demo")
	j.do(0, "cp", "-r", filepath.Join(s.work, "data"), home+"/demo/")
	j.do(0, "cp", "-r", filepath.Join(s.work, "code")+"/", home+"/train_couplet_demo") // as Visual Studio Code does: codeDir

	file := absolute(t, "../../../internal/job/jobfile/testdata/jobs/couplet.json")
	out := j.do(0, "submit", file, "-cpu", "1", "-gpu", "0", "-memory", "512Mi", "--follow")
	if !strings.Contains(out, "trained in "+s.work+"/local/home/alice/train_couplet_demo") {
		t.Errorf("the log has not where the code is:\n%s", out)
	}
	j.do(0, "get", "outputs", "train-couplet-demo")
	for _, name := range []string{"/jobs/train-couplet-demo/attempts/1/demo_001-0/model", "/demo/output/train_couplet_demo/model"} {
		if got := j.do(0, "cat", home+name); got != "up\ndown\n" {
			t.Errorf("%s has %q", name, got)
		}
	}

	// What changes the job and cannot be carried is refused, before anything is made.
	text, err := os.ReadFile(file)
	must(t, err)
	other := filepath.Join(s.work, "other.json")
	must(t, os.WriteFile(other, []byte(strings.Replace(string(text), `"taskRoles"`, `"gpuType": "K80", "retryCount": -2, "virtualCluster": "vc1", "taskRoles"`, 1)), 0o644))
	out = j.do(2, "submit", other, "-jobname", "refused", "-gpu", "0")
	if !strings.Contains(out, "retryCount") || strings.Contains(out, "K80") || !strings.Contains(out, "virtualCluster") {
		t.Errorf("submit said\n%s", out)
	}
	j.do(0, "submit", other, "-gpu", "0", "-cpu", "1", "-memory", "512Mi", "--max-attempts", "2", "-jobname", "decided", "--dry-run", filepath.Join(s.work, "code"))
}
