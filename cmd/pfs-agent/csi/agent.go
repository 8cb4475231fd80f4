package csi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Agent is the Mounter that runs "pfs-agent mount". Its processes serve the mount: a broker that keeps it, and a server
// without privileges.
type Agent struct {
	Program string   // the file of pfs-agent
	Cache   string   // the directory of the cache
	Env     []string // of the processes, in addition to that of this one
}

// codeOf is the gRPC code for the exit codes of pfs-agent; others are Internal.
var codeOf = map[int]codes.Code{2: codes.InvalidArgument, 3: codes.NotFound, 4: codes.PermissionDenied, 6: codes.Unavailable}

// Mount runs pfs-agent mount.
func (a Agent) Mount(ctx context.Context, dir, tokenFile string, flags []string) error {
	args := append([]string{"mount", "--unprivileged", "--cache-dir=" + a.Cache}, flags...)
	return a.run(ctx, []string{"PFS_TOKEN_FILE=" + tokenFile}, append(args, dir)...)
}

// Upgrade replaces the servers of this plugin's mounts for the pods of a kubelet by servers that run the installed program. It
// leaves other mounts alone, whose processes may belong to containers.
func (a Agent) Upgrade(ctx context.Context, kubelet string) error {
	mounts, err := fuse.Mounts()
	for _, m := range mounts {
		if ours, _ := filepath.Match(filepath.Join(kubelet, "pods", "*", "volumes", "kubernetes.io~csi", "*", "mount"), m.MountPoint); ours && m.BrokerPID != 0 {
			err = errors.Join(err, a.run(ctx, nil, "upgrade", m.MountPoint))
		}
	}
	return err
}

// run runs the program, with more variables in its environment.
func (a Agent) run(ctx context.Context, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, a.Program, args...)
	cmd.Dir = filepath.Dir(a.Program) // it stays when the container has ended
	cmd.Env = slices.Concat(os.Environ(), a.Env, env)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case errors.As(err, &exit):
		code, known := codeOf[exit.ExitCode()]
		if !known {
			code = codes.Internal
		}
		return status.Error(code, strings.TrimSpace(said.String()))
	case err != nil:
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

// Mounted reports whether the mount at dir has a server.
func (a Agent) Mounted(dir string) (bool, error) {
	m, err := fuse.MountAt(dir)
	if pfs.KindOf(err) == pfs.NotExist {
		return false, nil
	}
	return m.State != "dead", err
}

// Unmount ends the mount at dir.
func (a Agent) Unmount(_ context.Context, dir string) error {
	switch err := fuse.Unmount(dir); pfs.KindOf(err) {
	case pfs.NotExist:
		return nil
	case pfs.Unavailable:
		return status.Error(codes.Unavailable, err.Error())
	default:
		if err != nil {
			return status.Error(codes.Internal, err.Error())
		}
		return nil
	}
}

// Leave moves this process, and all that it starts from now on, from the control groups of its container to those of the
// node, so that the brokers and servers of mounts survive the container. The container must share the processes of the node.
func Leave() error {
	const node = "/proc/1/root"
	table, err := os.ReadFile("/proc/1/mounts")
	if err != nil {
		return err
	}
	moved := 0
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) < 3 || f[2] != "cgroup" && f[2] != "cgroup2" {
			continue
		}
		if err := os.WriteFile(filepath.Join(node, f[1], "cgroup.procs"), []byte("0"), 0); err != nil {
			return fmt.Errorf("leave the container: %w", err)
		}
		moved++
	}
	if moved == 0 {
		return errors.New("leave the container: the node has no control groups, or the container does not share its processes (hostPID)")
	}
	return nil
}

// Install copies this program and the certificates of its image to dir on the node, from where mounts use them after the
// container of the plugin has ended.
func Install(dir string) (Agent, error) {
	self, err := os.Executable()
	if err != nil {
		return Agent{}, err
	}
	a := Agent{Program: filepath.Join(dir, "pfs-agent"), Cache: filepath.Join(dir, "cache")}
	if err := copyFile(a.Program, self, 0o755); err != nil {
		return a, err
	}
	const authorities = "/etc/ssl/certs/ca-certificates.crt"
	ours := filepath.Join(dir, "ca-certificates.crt")
	switch err := copyFile(ours, authorities, 0o644); {
	case err == nil:
		a.Env = []string{"SSL_CERT_FILE=" + ours}
	case !errors.Is(err, os.ErrNotExist):
		return a, err
	}
	return a, nil
}

// copyFile replaces the file to by a copy of from.
func copyFile(to, from string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(to), ".new-")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Chmod(mode), out.Close()); err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		os.Remove(out.Name())
	}
	return err
}
