package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// limited makes a control group with a limit of memory, and returns the file that takes processes.
func limited(t *testing.T, limit int64) (procs string, failed func() string) {
	t.Helper()
	for _, g := range []struct{ top, limit, swap string }{
		{"/sys/fs/cgroup", "memory.max", "memory.swap.max"}, {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"},
	} {
		dir := filepath.Join(g.top, fmt.Sprintf("pfs-test-%d", os.Getpid()))
		if _, err := os.Stat(filepath.Join(g.top, "cgroup.procs")); err != nil || os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(dir) })
		if os.WriteFile(filepath.Join(dir, g.limit), []byte(fmt.Sprint(limit)), 0o644) != nil {
			os.Remove(dir)
			continue
		}
		_ = os.WriteFile(filepath.Join(dir, g.swap), []byte("0"), 0o644)
		return filepath.Join(dir, "cgroup.procs"), func() string {
			text, _ := exec.Command("sh", "-c", "cat "+dir+"/memory.events "+dir+"/memory.oom_control "+dir+"/memory.max_usage_in_bytes 2>/dev/null").Output()
			return string(text)
		}
	}
	t.Skip("no control group can be made here")
	return "", nil
}

// TestMemoryLimit loads a server in a control group of 256 MiB: it must not be killed.
func TestMemoryLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	const files, size = 16, 20 << 20
	content := map[string]string{}
	for i := range files {
		content[fmt.Sprintf("f%02d", i)] = strings.Repeat(fmt.Sprintf("%08d", i), size/8)
	}
	procs, failed := limited(t, 256<<20)
	a := mountIn(t, procs, content, "--cache-dir", t.TempDir(), "--cache-size", "2G")
	var work sync.WaitGroup
	for name, want := range content {
		work.Go(func() { a.read(t, name, want) })
		work.Go(func() {
			if err := os.WriteFile(filepath.Join(a.dir, "new"+name), []byte(want), 0o644); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	a.stop(t)
	if text := failed(); !strings.Contains(text, "oom_kill 0\n") {
		t.Errorf("the control group: %s", text)
	}
}
