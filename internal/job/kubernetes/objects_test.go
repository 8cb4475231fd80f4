package kubernetes

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
)

var update = flag.Bool("update", false, "write the golden files")

// testConfig is a cluster with the node plugin.
func testConfig() Config {
	c, err := Parse(map[string]string{"image": "docker.io/paddlecloud/pfs:1.0", "service": "https://pfsd.example.org:8730"})
	if err != nil {
		panic(err)
	}
	return c
}

func TestParse(t *testing.T) {
	with := func(name, value string) map[string]string {
		return map[string]string{"image": "i", "service": "https://h", name: value}
	}
	if c, err := Parse(with("quota", "pods=10, requests.cpu=20")); err != nil || len(c.Quota) != 2 {
		t.Errorf("%v, %v", c, err)
	}
	for name, value := range map[string]string{"image": "", "service": "h:8730", "mount": "fuse", "uid": "0", "gid": "x", "storage": "-1", "quota": "10", "max-grace": "5", "imge": "i"} {
		if _, err := Parse(with(name, value)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s %q: %v", name, value, err)
		}
	}
}

// testSpec is a job of two trainers and a parameter server.
func testSpec() *job.Spec {
	return &job.Spec{
		ID: "0123456789abcdef", Name: "Fit.A-line", User: "alice@example.com", Datacenter: "dc1",
		Package: "/pfs/dc1/home/alice@example.com/jobs/Fit.A-line/package", Entry: "python train.py", Passes: 1, Image: "registry.example.org/train:1",
		Roles: []job.Role{
			{Name: job.Trainer, Replicas: 2, CPU: 2000, Memory: 2 << 30},
			{Name: job.Pserver, Replicas: 1, CPU: 500, Memory: 1 << 30},
		},
		MaxAttempts: 3, Restart: job.RestartJob, UploadWait: 10 * time.Minute,
	}
}

// TestObjects compares the objects of several jobs with golden files: what submit --dry-run -o yaml prints.
func TestObjects(t *testing.T) {
	alone := testSpec()
	alone.Roles = alone.Roles[:1]
	alone.Roles[0].GPU = 1
	alone.Name, alone.User, alone.Registry = "mnist", "bob", "team"
	alone.Env = map[string]string{"RATE": "0.1"}
	alone.Inputs, alone.Outputs = append(alone.Inputs, "/pfs/dc1/public/mnist"), []string{"/model"}
	alone.Claims, alone.NodeSelector = []job.Claim{{Name: "nfs-pvc", Dir: "/nas", ReadOnly: true}}, map[string]string{"accelerator": "p100"}
	alone.TimeLimit = 90 * time.Minute
	rank := testSpec()
	rank.Restart = job.RestartRank
	tool := testSpec()
	tool.Roles, tool.Image, tool.Tool, tool.Entry, tool.Env = tool.Roles[:1], "", "convert-worker", "paddlectl convert-worker", nil
	sidecar := testConfig()
	sidecar.Mount, sidecar.Fingerprint = Sidecar, strings.Repeat("ab", 32)
	operators := testConfig()
	operators.Operators = []string{PaddleJob, Volcano}
	paddle, volcano, gang := testSpec(), testSpec(), testSpec()
	paddle.Engine, paddle.Scheduler, paddle.Queue, paddle.Priority = PaddleJob, Volcano, "research", "high"
	volcano.Engine, volcano.TimeLimit = Volcano, time.Hour
	gang.Scheduler = Volcano
	pai := testSpec()
	pai.Package, pai.Entry, pai.PAI = "", "", &job.PAI{Protocol: 1, Name: "fit_line", Cluster: "default"}
	pai.Roles = []job.Role{
		{Name: "ps_1", Replicas: 1, CPU: 500, Memory: 1 << 30, SharedMemory: 64 << 20, Entry: "serve", MinFailed: -1},
		{Name: "worker", Replicas: 3, CPU: 2000, Memory: 2 << 30, Entry: "train", MinFailed: 2, MinSucceeded: 2, Ports: []job.Port{{Label: "rpc", Count: 1}}},
	}
	for _, c := range []struct {
		name   string
		config Config
		spec   *job.Spec
	}{{"paddlejob", operators, paddle}, {"volcano", operators, volcano}, {"gang", operators, gang}, {"plugin", testConfig(), testSpec()}, {"openpai", testConfig(), pai}, {"alone", testConfig(), alone}, {"sidecar-rank", sidecar, rank}, {"tool", testConfig(), tool}} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.spec.Check(); err != nil {
				t.Fatal(err)
			}
			list, err := asJSON(c.config.objects(c.spec, 1))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, c.name+".yaml", documents(t, list))
		})
	}
}

// documents returns JSON objects as documents of YAML.
func documents(t *testing.T, list []json.RawMessage) []byte {
	t.Helper()
	var text bytes.Buffer
	out := yaml.NewEncoder(&text)
	out.SetIndent(2)
	for _, o := range list {
		var tree any
		err := json.Unmarshal(o, &tree)
		if err == nil {
			err = out.Encode(tree)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return text.Bytes()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from:\n%s", name, got)
	}
}

// TestContainers checks what every container must have.
func TestContainers(t *testing.T) {
	config, spec := testConfig(), testSpec()
	config.Mount = Sidecar
	spec.Inputs = append(spec.Inputs, "/pfs/dc1/public/mnist")
	for _, role := range spec.Roles {
		p := config.pod(spec, role, 1).Spec
		for _, c := range append(p.InitContainers, p.Containers...) {
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
				if c.Resources.Requests.Name(name, "").IsZero() || c.Resources.Limits.Name(name, "").IsZero() {
					t.Errorf("%s has no request or no limit for %s", c.Name, name)
				}
			}
			for _, e := range c.Env {
				if strings.Contains(strings.ToLower(e.Name), "token") && e.Name != "PFS_TOKEN_FILE" {
					t.Errorf("%s has the variable %s", c.Name, e.Name)
				}
			}
			for _, m := range c.VolumeMounts {
				if c.Name == mainContainer && m.Name == "token" {
					t.Error("the user's program sees the token")
				}
			}
		}
	}
}
