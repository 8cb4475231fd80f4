//go:build linux

package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// TestGroups uses directories that look like control groups: not every machine has some.
func TestGroups(t *testing.T) {
	mount := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(mount, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	self := write("self", "1:name=systemd:/x\n0::/user.slice/session.scope\n")
	if g, err := groupsFor(mount, self); err == nil {
		t.Errorf("without control groups: %s", g)
	}
	write("cgroup.controllers", "cpu memory pids\n")
	write("cgroup.subtree_control", "pids\n")
	write("user.slice/session.scope/cgroup.subtree_control", "\n")
	write("user.slice/cgroup.subtree_control", "memory\n")
	if g, err := groupsFor(mount, self); err == nil {
		t.Errorf("without processors: %s", g)
	}
	write("user.slice/cgroup.subtree_control", "cpu memory pids\n")
	above, err := groupsFor(mount, self)
	if err != nil || above != filepath.Join(mount, "user.slice") {
		t.Fatalf("%s, %v", above, err)
	}
	for _, file := range []string{"memory.max", "memory.swap.max", "cpu.max"} {
		write("user.slice/pfs-a/"+file, "max")
	}
	if _, err := newGroup(above, "pfs-a", job.Role{CPU: 1500, Memory: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"memory.max": "1073741824", "memory.swap.max": "0", "cpu.max": "150000 100000"} {
		if got, err := os.ReadFile(filepath.Join(above, "pfs-a", file)); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	if _, err := newGroup(above, "pfs-b", job.Role{CPU: 1, Memory: 1}); err != nil {
		t.Error(err) // os.WriteFile makes the files here
	}
}

// TestMachine refuses what no worker can have on this machine.
func TestMachine(t *testing.T) {
	m := machine{cpus: 2, memory: 4 << 30, gpus: 1}
	for want, r := range map[string]job.Role{
		"": {CPU: 2000, Memory: 4 << 30, GPU: 1},
		"needs 2500m processors, and this machine has 2": {CPU: 2500},
		"needs 5Gi of memory, and this machine has 4Gi":  {Memory: 5 << 30},
		"needs 2 GPUs, and this machine has 1":           {GPU: 2},
		"cluster":                                        {GPU: 9},
	} {
		err := m.check(&job.Spec{Roles: []job.Role{r}})
		if want == "" && err != nil || want != "" && (pfs.KindOf(err) != pfs.Invalid || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
}
