package jobfile

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/job"
)

// draftOf returns the job of a file after some settings.
func draftOf(t *testing.T, name, text string, settings ...string) (*Draft, []Left) {
	t.Helper()
	d := NewDraft()
	left, err := d.Load(Read(name, []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		if err := d.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	return d, left
}

// TestGuide: the job of the guide "train on PAI" needs nothing but a number of GPUs that the machine has.
func TestGuide(t *testing.T) {
	text, err := os.ReadFile("testdata/jobs/couplet.json")
	if err != nil {
		t.Fatal(err)
	}
	d, left := draftOf(t, "couplet.json", string(text), "trainers.gpu=0")
	spec := d.Finish()
	spec.User, spec.Datacenter = "alice", "dc"
	if err := d.Place("alice", "dc"); err != nil {
		t.Fatal(err)
	}
	if err := d.Undecided(func(key string) string { return "with " + key }); err != nil {
		t.Error(err)
	}
	if err := spec.Check(); err != nil {
		t.Error(err)
	}
	want := []job.Role{{Name: "demo_001", Replicas: 1, CPU: 2000, Memory: 8 << 30,
		Entry: "exec bash -c 'pip3 --quiet install future && cd $PAI_JOB_NAME && ls -al && chmod +x train.sh && python3 run_samples.py'"}}
	if !reflect.DeepEqual(spec.Roles, want) {
		t.Errorf("the roles are %+v", spec.Roles)
	}
	if spec.Name != "train-couplet-demo" || spec.Package != "/pfs/dc/home/alice/train_couplet_demo" || spec.Image != "vzich/poet:tensorflow" || spec.MaxAttempts != 1 {
		t.Errorf("the job is %+v", spec)
	}
	if want := (job.PAI{Protocol: 1, Name: "train_couplet_demo", Cluster: "default", CodeName: "train_couplet_demo"}); *spec.PAI != want {
		t.Errorf("what only variables need is %+v", *spec.PAI)
	}
	if len(left) != 1 || left[0].Matters() || left[0].Field != "jobName" {
		t.Errorf("left out: %v", left)
	}
}

// TestDecisions: a field that changes what runs is refused until an option decides it; others are only named.
func TestDecisions(t *testing.T) {
	const v1 = `{"jobName": "a", "image": "i", FIELD "taskRoles": [{"name": "w", "command": "x"}]}`
	const v2 = "protocolVersion: 2\nname: a\ntype: job\nFIELD\nprerequisites: [{name: i, type: dockerimage, uri: x}]\ntaskRoles: {w: {instances: 1, dockerImage: i, resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}, commands: [x]TASK}}\n"
	const paddle = "apiVersion: batch.paddlepaddle.org/v1\nkind: PaddleJob\nmetadata: {name: a, labels: {x: \"y\"}}\nspec:\n  FIELD\n  worker: {replicas: 1, template: {spec: {containers: [{name: p, image: i, command: [x]TASK}]}}}\n"
	for _, c := range []struct{ text, field, task, setting, named, refused string }{
		{v1, `"virtualCluster": "vc1", "extras": {"x": 1}, "killAllOnCompletedTaskNumber": 1,`, "", "", "virtualCluster", ""},
		{v1, `"outputDir": "$PAI_DEFAULT_FS_URI/out",`, "", "", "outputDir", ""},
		{v1, `"gpuType": "K80",`, "", "", "", "gpuType"},
		{v1, `"gpuType": "K80",`, "", "trainers.gpu=0", "", ""},
		{v1, `"retryCount": -1,`, "", "", "", "retryCount"},
		{v1, `"retryCount": -1,`, "", "max-attempts=3", "", ""},
		{v1, `"authFile": "hdfs://x/auth",`, "", "", "", "authFile"},
		{v1, `"authFile": "hdfs://x/auth",`, "", "registry=hub", "", ""},
		{v2, "description: hello\ncontributor: me", ", taskRetryCount: 2", "", "description", ""},
		{v2, "extras: {com.microsoft.pai.runtimeplugin: [{plugin: ssh}]}", "", "", "", "extras: it is"},
		{v2, "extras: {storages: [{name: nfs}]}", "", "", "", "storages"},
		{v2, "", ", extraContainerOptions: {infiniband: true}", "", "", "extraContainerOptions"},
		{v2, "secrets: {key: abc}", ", commands: ['echo <% $secrets.key %>']", "", "", ""},
		{paddle, "cleanPodPolicy: Never", "", "", "labels", ""},
		{paddle, "elastic: 1", "", "", "", "elastic"},
		{paddle, "", ", volumeMounts: [{name: d, mountPath: /d}]", "", "", "volumeMounts"},
	} {
		text := strings.NewReplacer("FIELD", c.field, "TASK", c.task).Replace(c.text)
		if strings.Contains(c.task, "commands") {
			text = strings.Replace(text, "commands: [x], ", "", 1)
			c.refused = "nothing replaces <% $secrets.key %>"
		}
		var settings []string
		if c.setting != "" {
			settings = append(settings, c.setting)
		}
		d, left := draftOf(t, "job", text, settings...)
		err := d.Undecided(func(key string) string { return "with " + key })
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s %s, %s: %v", c.field, c.task, c.setting, err)
		}
		named := false
		for _, l := range left {
			named = named || strings.Contains(l.Field, c.named)
		}
		if c.named != "" && !named {
			t.Errorf("%s %s: %q is not named in %v", c.field, c.task, c.named, left)
		}
	}
}

// TestRules reads the rules of completion of both protocols.
func TestRules(t *testing.T) {
	d, _ := draftOf(t, "v1", `{"jobName": "a", "image": "i", "retryCount": 2, "dataDir": "hdfs://elsewhere/data", "jobEnvs": {"A": "1"}, "taskRoles": [
		{"name": "ps~1", "taskNumber": 2, "minFailedTaskCount": null, "minSucceededTaskCount": null, "shmMB": 128, "memoryMB": 200, "command": "x"},
		{"name": "w", "taskNumber": 3, "minFailedTaskCount": 2, "minSucceededTaskCount": 3, "portList": [{"label": "a", "beginAt": 0, "portNumber": 2}], "command": "echo $A"}]}`)
	spec := d.Finish()
	if ps, w := spec.Roles[0], spec.Roles[1]; ps.Name != "ps_1" || ps.MinFailed != -1 || ps.MinSucceeded != 0 || ps.SharedMemory != 128<<20 || w.MinFailed != 2 || w.MinSucceeded != 3 ||
		!reflect.DeepEqual(w.Ports, []job.Port{{Label: "a", Count: 2}}) || spec.MaxAttempts != 3 || spec.Env["A"] != "1" {
		t.Errorf("%+v", spec)
	}
	if err := d.Place("alice", "dc"); err == nil || !strings.Contains(err.Error(), "dataDir") {
		t.Errorf("data elsewhere: %v", err)
	}
	if err := d.Set("inputs", "/pfs/dc/public/data"); err != nil || d.Place("alice", "dc") != nil || spec.PAI.Data != "/pfs/dc/public/data" {
		t.Errorf("an input in the place of dataDir: %v, %+v", err, spec.PAI)
	}
	for key, value := range map[string]string{"trainers.replicas": "2", "entry": "x", "topology": "t.py", "pservers.cpu": "1"} {
		if d.Set(key, value) == nil {
			t.Errorf("%s is accepted", key)
		}
	}

	d, _ = draftOf(t, "v2", "protocolVersion: 2\nname: a\ntype: job\njobRetryCount: 1\ndefaults: {virtualCluster: vc}\nprerequisites: [{name: i, type: dockerimage, uri: x}]\ntaskRoles:\n  w:\n    instances: 2\n    completion: {minFailedInstances: -1, minSucceededInstances: -1}\n"+
		"    dockerImage: i\n    resourcePerInstance: {cpu: 2, memoryMB: 100, gpu: 0, ports: {ssh2: 1}}\n    commands: [a, b]\n")
	spec = d.Finish()
	if w := spec.Roles[0]; w.MinFailed != -1 || w.MinSucceeded != 0 || w.Entry != "exec bash -c 'set -o errexit\na\nb'" || spec.PAI.Cluster != "vc" || spec.MaxAttempts != 2 || spec.Package != "" {
		t.Errorf("%+v", spec)
	}
}
