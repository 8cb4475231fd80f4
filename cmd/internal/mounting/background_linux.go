//go:build linux

package mounting

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
)

// readyVariable tells a process that it serves a mount in the background.
const readyVariable = "PFS_MOUNT_READY"

// readyFile returns the file that reports that the mount is ready, or nil if this process is not in
// the background.
func readyFile(a *app.App) *os.File {
	if a.Main.Getenv(readyVariable) == "" {
		return nil
	}
	return os.NewFile(3, "ready") // the first of exec.Cmd.ExtraFiles
}

// inBackground runs this command once more, as a process that goes on when the mount is ready. Until
// then that process writes its messages to the standard error of this one.
func inBackground(ctx context.Context, a *app.App) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	ready, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	cmd := exec.Command(exe)
	cmd.Args = a.Main.Args
	cmd.Env = append(os.Environ(), readyVariable+"=1")
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { cmd.Process.Signal(syscall.SIGTERM) })
	defer stop()
	if said, _ := io.ReadAll(ready); len(said) > 0 {
		return cmd.Process.Release()
	}
	var failed *exec.ExitError
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return pfs.CheckContext(ctx, "mounting.Mount", "")
	case errors.As(err, &failed) && failed.ExitCode() > 0:
		return cliio.Reported(failed.ExitCode())
	case err == nil:
		err = errors.New("it ended")
	}
	return pfs.Errorf("mounting.Mount", "", pfs.Other, "the process that was to serve the mount: %w", err)
}

// detach reports to the waiting process that the mount at dir is ready, and leaves its terminal and
// directory.
func detach(a *app.App, dir string, ready *os.File) error {
	if name, err := a.ConfigName(); err == nil {
		if a.Global.Config, err = filepath.Abs(name); err != nil {
			return err
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	log := null
	if name, err := logName(dir); err == nil && os.MkdirAll(filepath.Dir(name), 0o700) == nil {
		if f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600); err == nil {
			log = f
		}
	}
	for fd, file := range []*os.File{null, null, log} {
		if err := syscall.Dup3(int(file.Fd()), fd, 0); err != nil {
			return err
		}
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if _, err := ready.WriteString("ready\n"); err != nil {
		return err
	}
	return ready.Close()
}

// allowOpenFiles lets this process open as many files as the system allows. A file that a program has
// open through the mount takes up to three here.
func allowOpenFiles() {
	text, err := os.ReadFile("/proc/sys/fs/nr_open")
	if err != nil {
		return
	}
	if most, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: most, Max: most}) // only root may
	}
}
