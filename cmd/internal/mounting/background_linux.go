//go:build linux

package mounting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/fuse/broker"
	"github.com/paddlecloud/pfs/pfs"
)

// readyVariable tells a process that it keeps a mount in the background.
const readyVariable = "PFS_MOUNT_READY"

// The extra files of the processes, from descriptor 3 on.
const (
	readyFD = 3 // of a process in the background: reports that the mount is ready

	startFD = 3 // of a server: the directory in which the command was started
	logFD   = 4 // of a server: the log
)

// run is the command mount. It runs up to three times: in the terminal, in the background as the broker, and as the server.
func run(ctx context.Context, a *app.App, o options, dir string) error {
	link, err := broker.Inherited()
	if err != nil {
		return err
	}
	background := a.Main.Getenv(readyVariable) != ""
	switch {
	case link != nil:
		// The broker has left that directory, and its name may lead into the mount, which has no server yet.
		if err := os.NewFile(startFD, "start").Chdir(); err != nil {
			return err
		}
		return serve(ctx, a, o, dir, link)
	case background:
		return keep(ctx, a, o, dir, os.NewFile(readyFD, "ready"))
	case o.foreground:
		return keep(ctx, a, o, dir, nil)
	}
	return inBackground(ctx, a)
}

// inBackground runs this command once more, as a process that continues when the mount is ready. Until
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
	err = cmd.Wait()
	if ctx.Err() != nil {
		return pfs.CheckContext(ctx, "mounting.Mount", "")
	}
	if err == nil {
		err = errors.New("it ended")
	}
	return childFailed(err)
}

// childFailed returns the error for the end of a process that has reported why.
func childFailed(err error) error {
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() > 0 {
		return cliio.Reported(failed.ExitCode())
	}
	return pfs.Errorf("mounting.Mount", "", pfs.Other, "the process that was to serve the mount: %w", err)
}

// keep is the broker of a mount. It reports to ready, if that is not nil, when the mount is ready, and
// then leaves its terminal and directory.
func keep(ctx context.Context, a *app.App, o options, dir string, ready *os.File) error {
	if err := o.prepareUnprivileged(); err != nil {
		return err
	}
	if o.mkdir {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return pfs.E("mounting.Mount", "", pfs.KindOf(err), err)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	allowOpenFiles() // of this process and of the servers
	start, err := os.Open(".")
	if err != nil {
		return err
	}
	defer start.Close()
	log := os.Stderr
	if ready != nil {
		name, err := logName(dir)
		if err == nil {
			log, err = openLog(name)
		}
		if err == nil {
			go boundLog(ctx, log, name)
		} else {
			a.Note("warning: this mount has no log: %v", err)
			if log, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
				return err
			}
		}
		defer log.Close()
	}
	again := make(chan os.Signal, 1)
	if o.accessLog != "" {
		signal.Notify(again, syscall.SIGHUP)
	}
	opts := broker.Options{
		Signals: again,
		Command: func() *exec.Cmd {
			cmd := exec.Command(exe)
			cmd.Args = a.Main.Args
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			cmd.ExtraFiles = []*os.File{start, log}
			return cmd
		},
		Unprivileged: o.unprivileged,
		Grace:        o.grace.Duration + 10*time.Second,
		Upgrade:      upgrades(),
		Logger:       slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	failed := error(nil)
	if ready != nil {
		opts.Ready = func() { failed = detach(log, ready) }
	}
	err = broker.Run(ctx, opts)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return childFailed(err)
	case err == nil:
		return failed
	}
	return err
}

// upgrades returns what asks for a new server whenever this process receives SIGUSR2.
func upgrades() <-chan chan<- error {
	asked, upgrades := make(chan os.Signal, 1), make(chan chan<- error)
	signal.Notify(asked, syscall.SIGUSR2)
	go func() {
		for range asked {
			reply := make(chan error, 1)
			upgrades <- reply
			if err := <-reply; err != nil {
				slog.New(slog.NewTextHandler(os.Stderr, nil)).Error("the server was not replaced", "error", err)
			}
		}
	}()
	return upgrades
}

// upgradeWait is how long an upgrade may take. It is longer than the broker waits for the new server and the end of the
// old one, so that the reason for a failure is known.
const upgradeWait = 2 * time.Minute

// upgrade replaces the servers of the mount at dir, or of all mounts if it is empty.
func upgrade(ctx context.Context, a *app.App, dir string) error {
	const op = "mounting.Upgrade"
	var mounts []fuse.Status
	if dir != "" {
		m, err := fuse.MountAt(dir)
		if err != nil {
			return err
		}
		if m.BrokerPID == 0 {
			return pfs.Errorf(op, "", pfs.Unavailable, "the mount at %s has no broker that could replace its server (it is %s)", m.MountPoint, m.State)
		}
		mounts = append(mounts, m)
	} else {
		var err error
		if mounts, err = fuse.Mounts(); err != nil {
			return err
		}
	}
	done, failed := 0, cliio.NewTally(a.ReportFailure)
	for _, m := range mounts {
		if m.BrokerPID == 0 {
			continue
		}
		err := syscall.Kill(m.BrokerPID, syscall.SIGUSR2)
		if err != nil {
			err = pfs.Errorf(op, "", pfs.KindOf(err), "process %d, the broker of %s: %w", m.BrokerPID, m.MountPoint, err)
		} else {
			err = upgraded(ctx, m)
		}
		if failed.Add(err); err == nil {
			done++
		}
		if ctx.Err() != nil {
			break
		}
	}
	a.Printf("%d mounts have a new server\n", done)
	return failed.Err()
}

// upgraded waits until the mount m has another server.
func upgraded(ctx context.Context, m fuse.Status) error {
	for end := time.Now().Add(upgradeWait); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err := pfs.CheckContext(ctx, "mounting.upgraded", ""); err != nil {
			return err
		}
		now, err := fuse.MountAt(m.MountPoint)
		if err != nil {
			return err
		}
		if now.ServerPID != 0 && now.ServerPID != m.ServerPID {
			return nil
		}
		if now.Refused != nil && (m.Refused == nil || now.Refused.Upgrades > m.Refused.Upgrades) {
			return pfs.Errorf("mounting.upgraded", "", pfs.Unavailable, "the mount at %s is served by process %d as before: %s", m.MountPoint, m.ServerPID, now.Refused.Reason)
		}
	}
	return pfs.Errorf("mounting.upgraded", "", pfs.Unavailable, "the mount at %s is served by process %d as before; the log of the mount has the reason", m.MountPoint, m.ServerPID)
}

// prepareUnprivileged checks that a server without privileges can work, and makes its cache directories.
func (o options) prepareUnprivileged() error {
	switch {
	case !o.unprivileged:
		return nil
	case os.Geteuid() != 0:
		return cliargs.Usagef("--unprivileged is for root")
	case strings.HasPrefix(o.store, "file:") || strings.HasPrefix(o.store, "cephfs:"):
		return cliargs.Usagef("--unprivileged is for services and HDFS: the mount of a %s store sets owners, which needs root", strings.SplitN(o.store, ":", 2)[0])
	case len(o.cacheDirs) == 0 && o.cacheSize != "0":
		return cliargs.Usagef("--unprivileged needs --cache-dir, which the user nobody will own, or --cache-size 0")
	}
	for _, dir := range o.cacheDirs {
		if err := os.Mkdir(dir, 0o700); errors.Is(err, os.ErrExist) {
			continue
		} else if err != nil {
			return pfs.E("mounting.Mount", "", pfs.KindOf(err), err)
		}
		if err := os.Chown(dir, broker.Nobody, broker.Nobody); err != nil {
			return pfs.E("mounting.Mount", "", pfs.KindOf(err), err)
		}
	}
	return nil
}

// openLog opens an empty log.
func openLog(name string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND, 0o600)
}

const (
	mostLog  = 16 << 20 // bytes of a log
	logCheck = time.Minute
)

// boundLog keeps the file name short, to which log and other processes append: it is moved to name.old, which is
// replaced. Its content is copied, because other processes keep the file open.
func boundLog(ctx context.Context, log *os.File, name string) {
	for tick := time.Tick(logCheck); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		if info, err := log.Stat(); err != nil || info.Size() <= mostLog {
			continue
		}
		old, err := os.OpenFile(name+".old", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = io.Copy(old, io.NewSectionReader(log, 0, 2*mostLog))
			err = errors.Join(err, old.Close())
		}
		if err = errors.Join(err, log.Truncate(0)); err != nil {
			fmt.Fprintln(log, "the older part of this log is lost:", err)
		}
	}
}

// detach reports to the waiting process that the mount is ready, and leaves its terminal and directory.
func detach(log, ready *os.File) error {
	if err := leave(log); err != nil {
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

// leave makes log the output of this process, and / its directory.
func leave(log *os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for fd, file := range []*os.File{null, null, log} {
		if err := syscall.Dup3(int(file.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return os.Chdir("/")
}

// settle leaves the terminal and the directory in which a server was started.
func settle(a *app.App) error {
	if name, err := a.ConfigName(); err == nil {
		if a.Global.Config, err = filepath.Abs(name); err != nil {
			return err
		}
	}
	if a.Main.Getenv(readyVariable) == "" {
		return os.Chdir("/")
	}
	return leave(os.NewFile(logFD, "log"))
}
