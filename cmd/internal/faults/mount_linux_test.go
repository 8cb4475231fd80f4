package faults

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/paddlecloud/pfs/fuse"
)

// mounted is a mount by paddlectl.
type mounted struct {
	*testing.T
	dir  string
	args []string                                    // of paddlectl mount
	ctl  func(args ...string) (code int, out string) // runs paddlectl with the user of the mount
}

// newMount mounts with these arguments of paddlectl mount until the end of the test. env is added to
// the environment of paddlectl.
func newMount(t *testing.T, env []string, args ...string) *mounted {
	t.Helper()
	bin, err := programs()
	must(t, err)
	cache := t.TempDir()
	m := &mounted{T: t, dir: t.TempDir(), args: args}
	m.ctl = func(args ...string) (int, string) {
		c := exec.Command(filepath.Join(bin, "paddlectl"), args...)
		c.Env = append(append(os.Environ(), "XDG_CACHE_HOME="+cache), env...)
		out, err := c.CombinedOutput()
		return exitCode(err), string(out)
	}
	must(t, os.Chmod(filepath.Dir(m.dir), 0o755)) // other users must be able to reach it
	m.mount(args...)
	t.Cleanup(func() {
		if code, out := m.ctl("umount", m.dir); code != 0 {
			t.Errorf("umount: exit %d\n%s", code, out)
			_ = syscall.Unmount(m.dir, syscall.MNT_DETACH|syscall.MNT_FORCE)
		}
		logs, _ := filepath.Glob(cache + "/pfs/mount-*.log")
		for _, name := range logs {
			if text, _ := os.ReadFile(name); len(text) > 0 && t.Failed() {
				t.Logf("%s:\n%s", name, text)
			}
		}
	})
	return m
}

// mount mounts, for the first time or again.
func (m *mounted) mount(args ...string) {
	m.Helper()
	if code, out := m.ctl(append(append([]string{"mount"}, args...), m.dir)...); code != 0 {
		m.Fatalf("mount: exit %d\n%s", code, out)
	}
}

// status returns the status of the mount.
func (m *mounted) status() (st fuse.Status) {
	m.Helper()
	code, out := m.ctl("mount", "status", "--json")
	var all []fuse.Status
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != 0 {
		m.Fatalf("mount status: exit %d, %v\n%s", code, err, out)
	}
	for _, st := range all {
		if st.MountPoint == m.dir {
			return st
		}
	}
	m.Fatalf("mount status does not name %s:\n%s", m.dir, out)
	return st
}

// mount mounts a tree of the service as alice.
func (s *scene) mount(args ...string) *mounted {
	s.Helper()
	return newMount(s.T, []string{"PADDLE_CONFIG=" + s.config}, args...)
}

// onTmpfs returns an empty tmpfs.
func onTmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, syscall.Mount("pfs-test", dir, "tmpfs", 0, options))
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// needMount skips a test if this machine cannot mount as root, except in continuous integration.
func needMount(t *testing.T) {
	t.Helper()
	why := ""
	if _, err := os.Stat("/dev/fuse"); err != nil {
		why = err.Error()
	} else if os.Geteuid() != 0 {
		why = "only root can mount for all users"
	}
	switch {
	case why == "":
	case os.Getenv("CI") == "true":
		t.Fatal(why)
	default:
		t.Skip(why)
	}
}

// run runs a program in the mount, with further variables in its environment.
func (m *mounted) run(env []string, name string, args ...string) (string, error) {
	c := exec.CommandContext(m.Context(), name, args...)
	c.Dir, c.Env = m.dir, append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	return string(out), err
}
