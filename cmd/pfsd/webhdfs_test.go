package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// webhdfsService is a service whose gateway believes user.name.
type webhdfsService struct {
	*running
	webhdfs string // its address
}

// startWebHDFS starts a service with the gateway. datacenters is a part of the configuration, and empty for one local store.
func startWebHDFS(t *testing.T, gateway, datacenters string, args ...string) *webhdfsService {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pfsd.yaml")
	if err := os.WriteFile(file, []byte("webhdfs: {"+gateway+"}\n"+datacenters), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, dataFor(t), append([]string{"--config", file, "--webhdfs", "127.0.0.1:0"}, args...)...)
	m := regexp.MustCompile(`WebHDFS on (\S+)/webhdfs/v1`).FindStringSubmatch(r.said)
	if m == nil {
		t.Fatalf("no address of WebHDFS in:\n%s", r.said)
	}
	return &webhdfsService{r, m[1]}
}

const believing = `root: "/pfs/local/home/{user}", trust-user-name: true`

// python returns a Python with the clients.
func python(t *testing.T) string {
	t.Helper()
	venv := exec.Command("../../python/venv.sh", "hdfs")
	venv.Stderr = os.Stderr
	out, err := venv.Output()
	if err == nil {
		return strings.TrimSpace(string(out))
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("no Python with clients of WebHDFS: %v", err)
	}
	t.Skipf("no Python with clients of WebHDFS: %v", err)
	return ""
}

// ask sends a request to the gateway.
func (s *webhdfsService) ask(t *testing.T, method, path, query, body string) (status int, answer string) {
	t.Helper()
	return ask(t, method, s.webhdfs+"/webhdfs/v1"+path+"?"+query, body)
}

// ask sends a request.
func ask(t *testing.T, method, url, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, _ := io.ReadAll(a.Body)
	return a.StatusCode, string(b)
}

// TestWebHDFSClients runs HdfsCLI, fsspec and pandas.
func TestWebHDFSClients(t *testing.T) {
	s := startWebHDFS(t, believing, "")
	c := exec.CommandContext(t.Context(), python(t), "testdata/webhdfs_clients.py", s.webhdfs, "ann", strings.TrimSpace(goodPassword))
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestWebHDFSTrainingProgram runs the program of the guide "train on PAI" as it stands, with its three variables set.
func TestWebHDFSTrainingProgram(t *testing.T) {
	s := startWebHDFS(t, believing, "")
	for _, name := range []string{"a.txt", "sub/b.txt"} {
		if status, answer := s.ask(t, "PUT", "/demo/data/"+name, "op=CREATE&user.name=ann", "content of "+name); status != 201 {
			t.Fatalf("%s: %d %s", name, status, answer)
		}
	}
	program, err := os.ReadFile("testdata/run_samples.py")
	if err != nil {
		t.Fatal(err)
	}
	set := strings.NewReplacer("YOUR_HDFS_URL", s.webhdfs, "YOUR_HDFS_USERNAME", "ann", "YOUR_PROJECT_ROOT_DIR", "/demo").Replace(string(program))
	dir := t.TempDir()
	script := "#!/bin/bash\nmkdir -p output/deep && cat data/a.txt data/sub/b.txt >output/model && echo x >output/deep/log\n"
	for name, text := range map[string]string{"run_samples.py": set, "train.sh": script} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second run replaces the outputs of the first
		c := exec.CommandContext(t.Context(), python(t), "run_samples.py")
		c.Dir, c.Env = dir, append(os.Environ(), "PAI_JOB_NAME=job_1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if err := os.RemoveAll(filepath.Join(dir, "data")); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"model": "content of a.txtcontent of sub/b.txt", "deep/log": "x\n"} {
		status, got := s.ask(t, "GET", "/demo/output/job_1/output/"+name, "op=OPEN&user.name=ann", "")
		if status != 200 {
			status, got = s.ask(t, "GET", "/demo/output/job_1/"+name, "op=OPEN&user.name=ann", "")
		}
		if status != 200 || got != want {
			t.Errorf("output %s: %d %q", name, status, got)
		}
	}
	info, err := os.Stat(filepath.Join(s.data, "store", "home", "ann", "demo"))
	if err != nil || info.Mode().Perm()&0o022 != 0 {
		t.Errorf("after SETPERMISSION 777: %v, %v", info, err)
	}
}

// TestWebHDFSDoors holds who comes in, by plain HTTP and by HTTPS, and that the old client of the service sees the same tree.
func TestWebHDFSDoors(t *testing.T) {
	s := startWebHDFS(t, `tls: true, root: "/pfs/local/home/{user}"`, "")
	if !strings.HasPrefix(s.webhdfs, "https://") {
		t.Errorf("with tls: true the address is %s", s.webhdfs)
	}
	c := exec.CommandContext(t.Context(), "curl", "-sk", "-L", "-u", "ann:"+strings.TrimSpace(goodPassword), "-X", "PUT", "-T", "testdata/run_samples.py",
		s.webhdfs+"/webhdfs/v1/f?op=CREATE")
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("CREATE by HTTPS: %v %s", err, out)
	}
	fsys, _ := s.login(t, "ann")
	want, _ := os.Stat("testdata/run_samples.py")
	info, err := fsys.Stat(context.Background(), "/pfs/local/home/ann/f")
	if err != nil || info.Size != want.Size() || info.Digest == "" {
		t.Errorf("the service has %+v, %v", info, err)
	}
	out, err := exec.CommandContext(t.Context(), "curl", "-sk", s.webhdfs+"/webhdfs/v1/f?op=OPEN&user.name=ann").Output()
	if err != nil || !strings.Contains(string(out), "Authentication required") {
		t.Errorf("user.name without trust-user-name: %v %s", err, out)
	}
}

// TestWebHDFSOptions holds what is refused.
func TestWebHDFSOptions(t *testing.T) {
	data := dataFor(t)
	for _, tt := range []struct{ config, args, want string }{
		{"webhdfs: {root: /tmp}", "", "not below /pfs"},
		{"webhdfs: {rot: /pfs}", "", "rot"},
		{"webhdfs: {tls: perhaps}", "", "true or false"},
		{"webhdfs: 127.0.0.1:0", "", "webhdfs"},
		{"", "--webhdfs 0.0.0.0:0 --no-tls", "needs TLS"},
		{"", "--webhdfs nowhere", "--webhdfs"},
	} {
		file := filepath.Join(t.TempDir(), "pfsd.yaml")
		if err := os.WriteFile(file, []byte(tt.config+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		got := run(t, "", append([]string{"serve", "--data", data, "--config", file}, strings.Fields(tt.args)...)...)
		if got.code != 2 && got.code != 4 || !strings.Contains(got.stderr, tt.want) {
			t.Errorf("%s %s: code %d, %s", tt.config, tt.args, got.code, got.stderr)
		}
	}
	o := webhdfsOptions{listen: "0.0.0.0:9870"}
	if !o.withTLS() {
		t.Error("plain HTTP on all addresses without a configuration")
	}
	if o.tls = new(bool); o.withTLS() {
		t.Error("tls: false serves HTTPS")
	}
}
