package testbed

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestPause checks that a daemon of each cluster has stopped when Pause returns.
func TestPause(t *testing.T) {
	Long(t)
	hdfs, ceph := HDFSAlone(t), CephAlone(t)
	for _, d := range []struct {
		pause, resume func(testing.TB, string)
		name, pidFile string
	}{
		{hdfs.Pause, hdfs.Resume, "nn", filepath.Join(hdfs.dir, "run", "nn.pid")},
		{ceph.Pause, ceph.Resume, "mds", filepath.Join(ceph.Dir, "run", "mds.a.pid")},
	} {
		d.pause(t, d.name)
		if !stopped(t, pidIn(t, d.pidFile)) {
			t.Errorf("%s goes on", d.name)
		}
		d.resume(t, d.name)
	}
}

// TestAwaitStopped waits for a process whose signal comes late, as it does on a busy machine.
func TestAwaitStopped(t *testing.T) {
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait()
	})
	file := filepath.Join(t.TempDir(), "pid")
	if err := os.WriteFile(file, []byte(strconv.Itoa(sleep.Process.Pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var sent atomic.Bool
	time.AfterFunc(200*time.Millisecond, func() {
		sent.Store(true)
		_ = sleep.Process.Signal(syscall.SIGSTOP)
	})
	awaitStopped(t, file)
	if !sent.Load() {
		t.Error("a process is taken for one that has stopped, and runs")
	}
}
