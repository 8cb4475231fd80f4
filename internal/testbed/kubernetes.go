package testbed

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// kubernetesPart is the name of a Kubernetes in reports.
const kubernetesPart = "kubernetes"

// KubernetesCluster is a running Kubernetes with one node.
type KubernetesCluster struct {
	Host       string // the address at which pods reach this machine
	Kubeconfig string // the file with the credentials of the administrator

	script string
	env    []string
}

// Kubernetes returns the cluster that all tests share. Each test makes objects in a namespace of its own (Namespace).
func Kubernetes(t testing.TB) KubernetesCluster {
	t.Helper()
	dir := filepath.Join(stateDir(t), "k8s")
	c := KubernetesCluster{script: script(t, "k8s.sh"), env: []string{"K8S_DIR=" + dir}}
	hold(t, kubernetesPart, dir+".use", false)
	v := up(t, kubernetesPart, c.script, append(c.env, "TESTBED_IDLE="+idle), "up")
	c.Host, c.Kubeconfig = v["HOST"], v["KUBECONFIG"]
	return c
}

// Operator starts the "paddle-operator" or "volcano". The pods of PaddleJobs run the image docker.io/testbed/busybox:1, which needs sh,
// seq, sleep and nslookup.
func (c KubernetesCluster) Operator(t testing.TB, name string) {
	t.Helper()
	c.run(t, "operator", name)
}

// Load imports docker archives into the node.
func (c KubernetesCluster) Load(t testing.TB, archives ...string) {
	t.Helper()
	c.run(t, append([]string{"load"}, archives...)...)
}

// Node runs a command on the node, in its namespaces of mounts, processes and network, and returns its output.
func (c KubernetesCluster) Node(t testing.TB, command ...string) string {
	t.Helper()
	return c.run(t, append([]string{"node"}, command...)...)
}

// Signal sends a signal ("KILL", "STOP", "CONT") to a daemon of the node: "apiserver" or "kubelet", for example. A daemon
// that ends starts again a second later.
func (c KubernetesCluster) Signal(t testing.TB, daemon, signal string) {
	t.Helper()
	c.run(t, "signal", daemon, signal)
}

func (c KubernetesCluster) run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := call(c.script, c.env, args...)
	if err != nil {
		t.Fatalf("k8s.sh %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// Kubectl runs kubectl as the administrator of the cluster, with input as its standard input, and returns its output.
func (c KubernetesCluster) Kubectl(t testing.TB, input string, args ...string) string {
	t.Helper()
	out, err := c.TryKubectl(input, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// TryKubectl is Kubectl for a command that may fail. The output then includes that of its standard error.
func (c KubernetesCluster) TryKubectl(input string, args ...string) (string, error) {
	cmd := exec.Command(c.script, append([]string{"kubectl"}, args...)...)
	cmd.Env = append(cmd.Environ(), c.env...)
	cmd.Stdin = strings.NewReader(input)
	var out, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failure
	err := cmd.Run()
	if err != nil {
		out.Write(failure.Bytes())
	}
	return out.String(), err
}
