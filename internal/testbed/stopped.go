package testbed

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// awaitStopped waits until a daemon that was sent SIGSTOP has stopped. On a busy machine the daemon
// continues to run, and to answer, until the thread that takes the signal is scheduled.
func awaitStopped(t testing.TB, pidFile string) {
	t.Helper()
	pid := pidIn(t, pidFile)
	for end := time.Now().Add(time.Minute); !stopped(t, pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %s (%s) has not stopped within a minute", pid, pidFile)
		}
	}
}

// pidIn returns the process ID of a daemon.
func pidIn(t testing.TB, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("the process of a daemon: %v", err)
	}
	return strings.TrimSpace(string(raw))
}

// stopped reports whether all threads of a process have stopped.
func stopped(t testing.TB, pid string) bool {
	t.Helper()
	threads, err := filepath.Glob(filepath.Join("/proc", pid, "task", "*", "stat"))
	if err == nil && len(threads) == 0 {
		err = fmt.Errorf("process %s does not run", pid)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range threads {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		// The state follows the name of the program, which is in parentheses.
		if at := bytes.LastIndexByte(stat, ')'); at < 0 || !bytes.HasPrefix(stat[at:], []byte(") T")) {
			return false
		}
	}
	return true
}
