package launch

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalDescendants sends sig to every process that descends from this one, except those of the process
// group not.
func signalDescendants(sig syscall.Signal, not int) {
	if err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); errors.Is(err, unix.ECHILD) {
		return // most entries leave nothing, and many end at once: each would read the state of all processes
	}
	all := processes()
	children := map[int][]int{}
	for pid, p := range all {
		children[p.parent] = append(children[p.parent], pid)
	}
	for next := children[os.Getpid()]; len(next) > 0; {
		pid := next[0]
		next = append(next[1:], children[pid]...)
		if all[pid].group != not {
			_ = syscall.Kill(pid, sig) // it may have ended
		}
	}
}

type process struct{ parent, group int }

// processes returns all processes by their ID.
func processes() map[int]process {
	found := map[int]process{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// PID (NAME) STATE PARENT GROUP ..., and NAME may contain anything.
		fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if len(fields) > 2 {
			parent, _ := strconv.Atoi(string(fields[1]))
			group, _ := strconv.Atoi(string(fields[2]))
			found[pid] = process{parent, group}
		}
	}
	return found
}

// memoryKills returns how many processes of this control group the kernel has killed for lack of
// memory, 0 where it does not say.
func memoryKills() int {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(groups)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			events, _ := os.ReadFile(filepath.Join("/sys/fs/cgroup", name, "memory.events"))
			for event := range strings.Lines(string(events)) {
				if n, ok := strings.CutPrefix(event, "oom_kill "); ok {
					kills, _ := strconv.Atoi(strings.TrimSpace(n))
					return kills
				}
			}
		}
	}
	return 0
}
