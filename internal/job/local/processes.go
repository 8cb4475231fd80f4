//go:build linux

package local

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/paddlecloud/pfs/internal/job"
)

// tryLock locks the file name, which it makes if need be, until the file is closed: here and in every
// process that inherits it. It returns nil if another process has the lock.
func tryLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, err
}

// isLocked reports whether a process has the lock.
func isLocked(name string) bool {
	f, err := tryLock(name)
	if f != nil {
		f.Close()
	}
	return f == nil && err == nil
}

// processesOf returns the processes of the entry of a run: those that have its environment.
func processesOf(rank job.RankDir) (pids []int) {
	mark := []byte("\x00PFS_OUTPUT=" + rank.Output() + "\x00")
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err == nil && bytes.Contains(append([]byte{0}, data...), mark) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// killAll kills the processes of a run. It reports whether none is left.
func killAll(rank job.RankDir) bool {
	const patience, pause = 10 * time.Second, 10 * time.Millisecond
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(pause) {
		pids := processesOf(rank)
		if len(pids) == 0 {
			return true
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
	return false
}

// bootID tells the times between two starts of the machine apart.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}

// uptime returns the time since the start of the machine, by a clock that nobody can set.
func uptime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// isMounted reports whether something is mounted at dir.
func isMounted(dir string) bool {
	var here, above unix.Stat_t
	err := unix.Lstat(dir, &here)
	if errors.Is(err, unix.ENOTCONN) {
		return true // by a process that has died
	}
	return err == nil && unix.Lstat(filepath.Dir(dir), &above) == nil && here.Dev != above.Dev
}
