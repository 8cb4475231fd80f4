// Package deploy_test runs a trainer in pods of a real Kubernetes, with the manifests of this directory.
package deploy_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// records is the number of records of the dataset, each of recordSize bytes.
const records, recordSize = 1 << 15, 4 << 10

// TestPods reads a dataset and writes an output from a trainer without privileges, with the mounts of the node plugin and
// with those of a sidecar.
func TestPods(t *testing.T) {
	p := newPods(t)
	k := p.k
	k.Load(t, filepath.Join(p.bin, "trainer.tar"))
	p.s.convert(t)

	t.Run("Image", func(t *testing.T) {
		for _, program := range []string{"pfs-agent", "pfsd", "paddlectl"} {
			name := "version-" + program
			t.Cleanup(func() { k.Kubectl(t, "", "delete", "pod", name, "--now") })
			k.Kubectl(t, "", "run", name, "--restart=Never", "--image="+image, "--command", "--", "/bin/"+program, "version")
			p.await(t, "the end of "+program, func() bool {
				out, _ := k.TryKubectl("", "get", "pod", name, "-o", "jsonpath={.status.phase}")
				return out == "Succeeded"
			})
			if out := k.Kubectl(t, "", "logs", name); !strings.Contains(out, version) {
				t.Errorf("%s version prints %q", program, out)
			}
		}
	})
	t.Run("Sidecar", func(t *testing.T) {
		p.train(t, "sidecar-example.yaml", "privileged", func() {})
	})
	t.Run("Plugin", func(t *testing.T) {
		p.applyPlugin(t)
		t.Run("Pod", func(t *testing.T) {
			p.train(t, "csi-example.yaml", "restricted", func() {
				// A mount does not need its plugin: it survives the replacement of the plugin.
				k.Kubectl(t, "", "-n", "pfs-system", "delete", "pod", "-l", "app=pfs-csi")
				k.Kubectl(t, "", "-n", "pfs-system", "rollout", "status", "ds/pfs-csi", "--timeout=3m")
			})
		})
		t.Run("Jobs", func(t *testing.T) { testJobs(t, p) }) // the last: it changes the configuration of pfsd
	})
}

// newPods builds the programs and images, and starts a pfsd that the pods of the cluster reach.
func newPods(t *testing.T) pods {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil && os.Getenv("CI") != "true" {
		t.Skip("there is no FUSE here")
	}
	k := testbed.Kubernetes(t)
	bin := t.TempDir()
	build(t, bin)
	k.Load(t, filepath.Join(bin, "pfs.tar"))
	return pods{k: k, s: serve(t, bin, k.Host), bin: bin}
}

// applyPlugin installs the node plugin until the end of the test.
func (p pods) applyPlugin(t *testing.T) {
	t.Helper()
	p.apply(t, "csi.yaml", "")
	t.Cleanup(func() { p.remove(t, "csi.yaml", "") })
}

const (
	version = "v0.0.0-test"
	image   = "docker.io/paddlecloud/pfs:" + version
	trainer = "docker.io/testbed/trainer:1"
)

// build makes the programs and the images in bin.
func build(t *testing.T, bin string) {
	t.Helper()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	in := func(name string) string { return filepath.Join(bin, name) }
	run("build", "-trimpath", "-tags=", "-ldflags=-X main.version="+version, "-o", bin,
		"../cmd/pfs-agent", "../cmd/pfsd", "../cmd/paddlectl", "./testdata/trainer", "./image")
	for _, args := range [][]string{
		{"-o", in("pfs.tar"), "-name", image, in("pfs-agent"), in("pfsd"), in("paddlectl")},
		{"-o", in("trainer.tar"), "-name", trainer, in("trainer")},
	} {
		if out, err := exec.Command(in("image"), args...).CombinedOutput(); err != nil {
			t.Fatalf("image: %v\n%s", err, out)
		}
	}
}

// service is a running pfsd.
type service struct {
	bin, data, endpoint, fingerprint, token string

	pfsd *exec.Cmd
	log  textLog
	env  []string // of paddlectl, logged in as alice
}

// convert makes a dataset in the home of alice.
func (s *service) convert(t *testing.T) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "source.txt")
	line := append(bytes.Repeat([]byte("x"), recordSize-1), '\n')
	if err := os.WriteFile(source, bytes.Repeat(line, records), 0o600); err != nil {
		t.Fatal(err)
	}
	s.paddlectl(t, "", "dataset", "convert", "--format", "text", "--payload", "raw", "--compressor", "none", "--num-shards", "2", "--output-path", home+"/data", "--name-prefix", "train", source)
}

// password is that of alice, as a line.
const password = "correct horse battery\n"

// serve starts pfsd on an address that pods reach, with the user alice.
func serve(t *testing.T, bin, host string) *service {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	s := &service{bin: bin, env: append(os.Environ(), "PADDLE_CONFIG="+filepath.Join(dir, "config"))}
	add := exec.Command(filepath.Join(bin, "pfsd"), "user", "add", "alice", "--data", data, "--password-stdin")
	add.Stdin = strings.NewReader(password)
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("pfsd user add: %v\n%s", err, out)
	}
	s.data = data
	t.Cleanup(func() { s.stop() }) // the last pfsd, whichever test has started it
	s.start(t, host+":0")
	s.paddlectl(t, password, "login", "--endpoint", s.endpoint, "--fingerprint", s.fingerprint, "--username", "alice", "--password-stdin")
	token, err := s.access(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	s.token = token
	return s
}

// access returns the token of paddlectl, which paddlectl renews if it has been refused.
func (s *service) access(_ context.Context, refused string) (string, error) {
	if refused != "" {
		cmd := exec.Command(filepath.Join(s.bin, "paddlectl"), "ls", home)
		cmd.Env = s.env
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("paddlectl ls: %w: %s", err, out)
		}
	}
	tokens, err := filepath.Glob(filepath.Join(filepath.Dir(s.data), "tokens", "*"))
	if err != nil {
		return "", err
	}
	var stored struct{ Access string }
	for _, name := range tokens {
		if text, err := os.ReadFile(name); err == nil && json.Unmarshal(text, &stored) == nil && stored.Access != "" {
			return stored.Access, nil
		}
	}
	return "", fmt.Errorf("paddlectl has no token in %s", filepath.Dir(s.data))
}

// start starts pfsd at an address, and waits until it serves.
func (s *service) start(t *testing.T, listen string, args ...string) {
	t.Helper()
	s.pfsd = exec.Command(filepath.Join(s.bin, "pfsd"), append([]string{"serve", "--data", s.data, "--listen", listen}, args...)...)
	log, err := s.pfsd.StderrPipe()
	if err == nil {
		err = s.pfsd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	serves := false
	for !serves && lines.Scan() {
		s.log.note(lines.Text())
		if m := regexp.MustCompile(`fingerprint ([0-9a-f]{64}), until`).FindStringSubmatch(lines.Text()); m != nil {
			s.fingerprint = m[1]
		}
		if m := regexp.MustCompile(`listening on (https:\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			s.endpoint, serves = m[1], true
		}
	}
	if !serves || s.fingerprint == "" {
		t.Fatalf("pfsd does not start:\n%s", s.log.String())
	}
	go func() {
		for lines.Scan() {
			s.log.note(lines.Text())
		}
	}()
}

func (s *service) stop() {
	_ = s.pfsd.Process.Kill()
	_ = s.pfsd.Wait()
}

// restart starts pfsd again with a configuration file, at the address that it had.
func (s *service) restart(t *testing.T, config string) {
	t.Helper()
	s.stop()
	s.start(t, strings.TrimPrefix(s.endpoint, "https://"), "--config", config)
}

// textLog keeps the last lines of a log.
type textLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *textLog) note(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines[max(0, len(l.lines)-200):], line)
}

func (l *textLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

const home = "/pfs/local/home/alice"

// paddlectl runs it as alice and returns its output.
func (s *service) paddlectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(s.bin, "paddlectl"), args...)
	cmd.Env, cmd.Stdin = s.env, strings.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := err.(*exec.ExitError); ok {
			out = append(out, exit.Stderr...)
		}
		t.Fatalf("paddlectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// pods are those of one cluster.
type pods struct {
	k   testbed.KubernetesCluster
	s   *service
	bin string
}

// manifest returns a file of this directory with the names of the test.
func (p pods) manifest(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(
		"docker.io/paddlecloud/pfs:latest", image, "registry.example.org/trainer:1", trainer, "command: [trainer,", "command: [/bin/trainer,",
		"https://pfsd.example.org:8730", p.s.endpoint, `fingerprint: ""`, "fingerprint: "+p.s.fingerprint, "--fingerprint=", "--fingerprint="+p.s.fingerprint,
	).Replace(string(text))
}

func (p pods) apply(t *testing.T, name, namespace string) {
	t.Helper()
	p.k.Kubectl(t, p.manifest(t, name), "apply", "--namespace="+namespace, "-f", "-")
}

func (p pods) remove(t *testing.T, name, namespace string) {
	t.Helper()
	p.k.Kubectl(t, p.manifest(t, name), "delete", "--namespace="+namespace, "--timeout=3m", "-f", "-")
}

// train runs the trainer of the manifest in a namespace with a pod security standard, calls during while it runs, and
// checks what is left.
func (p pods) train(t *testing.T, manifest, standard string, during func()) {
	k, ns := p.k, strings.ToLower(filepath.Base(t.Name()))
	k.Kubectl(t, "", "create", "namespace", ns)
	t.Cleanup(func() {
		if t.Failed() {
			p.explain(t, ns)
		}
		k.Kubectl(t, "", "delete", "namespace", ns, "--timeout=3m")
	})
	k.Kubectl(t, "", "label", "namespace", ns, "pod-security.kubernetes.io/enforce="+standard)
	k.Kubectl(t, "", "-n", ns, "create", "secret", "generic", "pfs", "--from-literal=token="+p.s.token)
	p.apply(t, manifest, ns)
	logs := func() string {
		out, _ := k.TryKubectl("", "-n", ns, "logs", "trainer", "-c", "trainer")
		return out
	}
	p.await(t, "the first epoch", func() bool { return strings.Contains(logs(), "first epoch") })
	if want := fmt.Sprintf("%d records", records); !strings.Contains(logs(), want) {
		t.Errorf("the trainer read %q, not %s", logs(), want)
	}
	if modes := p.openModes(t); !strings.Contains(modes, "passthrough") {
		t.Errorf("the open modes of the mounts are %q", modes)
	}
	before := p.cpu(t)
	p.s.paddlectl(t, "", "touch", home+"/go")
	p.await(t, "later epochs", func() bool { return strings.Contains(logs(), "{") })
	used := p.cpu(t) - before
	text := logs()[strings.Index(logs(), "{"):]
	var r struct{ First, Mount, Native, MountCPU, NativeCPU time.Duration }
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	t.Logf("first epoch %v; later ones %v, and %v of processor time; of a local copy %v and %v; the mounts used %v of processor time for 20 epochs",
		r.First, r.Mount, r.MountCPU, r.Native, r.NativeCPU, used)
	// Times depend on what else the machine does. Without passthrough the mounts alone use more than a second.
	if r.MountCPU > 2*r.NativeCPU || used > 500*time.Millisecond {
		t.Errorf("later epochs are slower than with a local copy")
	}
	during()
	p.checkServers(t)
	p.s.paddlectl(t, "", "touch", home+"/end")
	k.Kubectl(t, "", "-n", ns, "wait", "pod/trainer", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=3m")
	if got := p.s.paddlectl(t, "", "cat", home+"/output"); got != strings.TrimSpace(text) {
		t.Errorf("the output is %q, want %q", got, text)
	}
	k.Kubectl(t, "", "-n", ns, "delete", "pod", "trainer", "--timeout=3m")
	p.await(t, "the end of the mounts", func() bool { return len(p.processes(t)) == 0 && p.mounts(t) == "" })
	p.s.paddlectl(t, "", "rm", home+"/go", home+"/end", home+"/output")
}

// await repeats done until it is true.
func (p pods) await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within three minutes", what)
		}
	}
}

// mounts returns the lines of the node's table of mounts that are mounts of this project.
func (p pods) mounts(t *testing.T) string {
	t.Helper()
	var found []string
	for line := range strings.Lines(p.k.Node(t, "cat", "/proc/self/mounts")) {
		if strings.Contains(line, p.s.endpoint) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}

// openModes returns the open modes of the mounts for data.
func (p pods) openModes(t *testing.T) string {
	t.Helper()
	var mounts []struct {
		OpenMode string `json:"open_mode"`
		Root     string
	}
	if err := json.Unmarshal([]byte(p.k.Node(t, filepath.Join(p.bin, "pfs-agent"), "status", "--json")), &mounts); err != nil {
		t.Fatal(err)
	}
	var modes []string
	for _, m := range mounts {
		if m.Root == home+"/data" {
			modes = append(modes, m.OpenMode)
		}
	}
	return strings.Join(modes, " ")
}

// processes returns the processes that serve mounts of the service.
func (p pods) processes(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, dir := range names {
		args, _ := os.ReadFile(dir + "/cmdline") // the process may have ended
		if bytes.Contains(args, []byte("--service="+p.s.endpoint)) {
			found = append(found, dir)
		}
	}
	return found
}

// cpu returns the processor time that the mounts have used.
func (p pods) cpu(t *testing.T) time.Duration {
	t.Helper()
	var ticks int
	for _, dir := range p.processes(t) {
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		for _, f := range fields[11:13] {
			n, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// checkServers checks that the processes of the mounts without privileges are as many as those that keep the mounts, and
// kills them: they are replaced.
func (p pods) checkServers(t *testing.T) {
	t.Helper()
	var servers []int
	var all []string
	p.await(t, "one server for each mount", func() bool { all = p.processes(t); return len(all) == 4 })
	for _, dir := range all {
		text, err := os.ReadFile(dir + "/status")
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`(?m)^Uid:\s65534\s65534\s`).Match(text) {
			continue
		}
		if !regexp.MustCompile(`(?m)^CapEff:\s0+$`).Match(text) {
			t.Errorf("a server has capabilities:\n%s", text)
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, pid)
	}
	if len(servers) != 2 || len(all) != 4 {
		t.Errorf("of %d processes %d are servers without privileges; want two mounts", len(all), len(servers))
	}
	for _, pid := range servers {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
}

// explain logs what is known about a failed pod.
func (p pods) explain(t *testing.T, ns string) {
	t.Helper()
	for _, args := range [][]string{
		{"-n", ns, "describe", "pod", "trainer"}, {"-n", ns, "logs", "trainer", "--all-containers", "--prefix"},
		{"-n", "pfs-system", "logs", "ds/pfs-csi"},
	} {
		out, _ := p.k.TryKubectl("", args...)
		t.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
	t.Logf("mounts:\n%s", p.mounts(t))
}
