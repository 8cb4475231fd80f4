//go:build unix

package testbed

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// hold locks the file name until the end of the test, exclusively or shared, and touches it at both
// ends.
func hold(t testing.TB, _, name string, alone bool) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	for {
		if err = syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		t.Fatalf("lock of %s: %v", name, err)
	}
	touch(t, name)
	t.Cleanup(func() {
		touch(t, name)
		f.Close()
	})
}

func touch(t testing.TB, name string) {
	now := time.Now()
	if err := os.Chtimes(name, now, now); err != nil {
		t.Errorf("the cluster may go down early: %v", err)
	}
}
