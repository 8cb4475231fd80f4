//go:build linux

package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
)

// cgroups is where the control groups of Linux are mounted (version 2).
const cgroups = "/sys/fs/cgroup"

// groupsFor returns the control group in which groups for ranks can be made: the nearest one above this
// process that hands processors and memory on, and that this process may change.
func groupsFor(mount, self string) (string, error) {
	const none = "processors and memory of the workers are not limited: "
	text, err := os.ReadFile(self)
	if err != nil {
		return "", errors.New(none + err.Error())
	}
	if _, err := os.Stat(filepath.Join(mount, "cgroup.controllers")); err != nil {
		return "", errors.New(none + "this machine has no control groups of version 2")
	}
	for line := range strings.Lines(string(text)) {
		own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		for ok {
			group := filepath.Join(mount, own)
			handed, _ := os.ReadFile(filepath.Join(group, "cgroup.subtree_control"))
			controllers := strings.Fields(string(handed))
			if slices.Contains(controllers, "memory") && slices.Contains(controllers, "cpu") {
				probe, err := os.MkdirTemp(group, "pfs-")
				if err == nil {
					return group, os.Remove(probe)
				}
			}
			if own == "/" {
				break
			}
			own = filepath.Dir(own)
		}
	}
	return "", errors.New(none + "this user may not make control groups")
}

// group is the control group of a run; empty if there is none.
type group string

// newGroup makes a control group with the limits of role.
func newGroup(above, name string, role job.Role) (group, error) {
	const period = 100000 // microseconds
	g := group(filepath.Join(above, name))
	if err := os.Mkdir(string(g), 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	for file, value := range map[string]string{
		"memory.max":      fmt.Sprint(role.Memory),
		"memory.swap.max": "0",
		"cpu.max":         fmt.Sprintf("%d %d", max(1000, role.CPU*period/1000), period),
	} {
		err := os.WriteFile(filepath.Join(string(g), file), []byte(value), 0)
		if err != nil && file != "memory.swap.max" { // not every kernel has it
			g.remove()
			return "", err
		}
	}
	return g, nil
}

// remove kills the processes in the group, and removes the group.
func (g group) remove() {
	if g == "" {
		return
	}
	_ = os.WriteFile(filepath.Join(string(g), "cgroup.kill"), []byte("1"), 0)
	for range 100 { // the processes need a moment to end
		if err := os.Remove(string(g)); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// roleOf returns the role called name.
func roleOf(spec *job.Spec, name string) job.Role {
	i := slices.IndexFunc(spec.Roles, func(r job.Role) bool { return r.Name == name })
	return spec.Roles[i]
}
