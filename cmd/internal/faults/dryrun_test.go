package faults

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDryRun compares what submit --dry-run prints with the golden file of the engine. The cluster has nothing of the user
// yet, and nothing may be created.
func TestDryRun(t *testing.T) {
	t.Parallel()
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	}))
	t.Cleanup(cluster.Close)
	dir := t.TempDir()
	kubeconfig, config := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "pfsd.yaml")
	must(t, os.WriteFile(kubeconfig, []byte(`apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "`+cluster.URL+`"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: t}}]
`), 0o600))
	must(t, os.WriteFile(config, fmt.Appendf(nil, `datacenters:
  dc1:
    store: file://%s
    engine: kubernetes
    engine-options: {image: "docker.io/paddlecloud/pfs:1.0", service: "https://pfsd.example.org:8730", kubeconfig: %s}
`, filepath.Join(dir, "store"), kubeconfig), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "store"), 0o755))
	s := newScene(t, "--config", config)
	add := exec.Command(filepath.Join(s.bin, "pfsd"), "user", "add", "alice@example.com", "--data", s.data, "--password-stdin")
	add.Stdin = strings.NewReader("correct horse battery\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("user add: %v\n%s", err, out)
	}
	if code, out := s.run(s.command("correct horse battery\n", "login", "--endpoint", "https://"+s.listen, "--username", "alice@example.com",
		"--password-stdin", "--datacenter", "dc1")); code != 0 {
		t.Fatalf("login: exit %d\n%s", code, out)
	}
	must(t, os.Mkdir(filepath.Join(s.work, "package"), 0o755))
	s.local("package/train.py", 100)
	code, out := s.run(s.command("", "submit", "--dry-run", "-o", "yaml", "-datacenter", "dc1", "-jobname", "Fit.A-line", "-image", "registry.example.org/train:1",
		"-parallelism", "2", "-cpu", "2", "-memory", "2Gi", "-pservers", "1", "-pscpu", "500m", "-psmemory", "1Gi", "--max-attempts", "3", "-entry", "python train.py", "package"))
	if code != 0 {
		t.Fatalf("submit: exit %d\n%s", code, out)
	}
	golden, err := os.ReadFile("../../../internal/job/kubernetes/testdata/plugin.yaml")
	must(t, err)
	if id := regexp.MustCompile(`pfs.paddlecloud.io/submission: (\S+)`).FindStringSubmatch(out); id != nil {
		out = strings.ReplaceAll(out, id[1], "0123456789abcdef")
	}
	got, want := documents(t, out), documents(t, string(golden))
	if len(got) == 0 || got[0]["kind"] != "Namespace" {
		t.Fatalf("it begins with\n%.500s", out)
	}
	if got = got[1:]; !reflect.DeepEqual(got, want) {
		t.Errorf("%d objects differ from the %d of the golden file:\n%s", len(got), len(want), out)
	}
}

// documents parses documents of YAML.
func documents(t *testing.T, text string) (list []map[string]any) {
	t.Helper()
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o map[string]any
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return list
		}
		must(t, err)
		list = append(list, o)
	}
}
