//go:build !race

package main

import (
	"os/exec"
	"syscall"
	"testing"
)

// checkResident checks that an ended process had at most the given MiB resident.
func checkResident(t *testing.T, cmd *exec.Cmd, most int64) {
	t.Helper()
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatalf("no usage of %v", cmd)
	}
	if got := usage.Maxrss >> 10; got > most {
		t.Errorf("%d MiB resident, want at most %d", got, most)
	}
}
