package launch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"golang.org/x/sys/unix"
)

// forwarded are the signals that the entry gets.
var forwarded = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// Run runs the entry of a rank to its end and returns the exit record, which it has also written. After an
// error there is no record, so the end of the entry is not known.
//
// Run is for a process that does nothing else: it takes over all signals, and waits for, or ends, every
// process that descends from this one.
func Run(opts Options) (*job.Exit, error) {
	r := opts.Rank
	signals := make(chan os.Signal, 16)
	signal.Reset(forwarded...)
	signal.Notify(signals, forwarded...)
	defer signal.Stop(signals)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-opts.Stop:
			signals <- syscall.SIGTERM
		case <-ended:
		}
	}()
	// Processes whose parents have ended become children of this one.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	if err := r.Dir.Make(); err != nil {
		return nil, err
	}
	if err := r.Dir.Reserve(); err != nil {
		return nil, err
	}
	exit := run(opts, signals)
	if err := record(r.Dir, exit); err != nil {
		return exit, err
	}
	waitForUploader(r.Dir, opts.UploadWait)
	return exit, nil
}

// run starts the entry and returns how it ended.
func run(opts Options, signals <-chan os.Signal) *job.Exit {
	r := opts.Rank
	exit := &job.Exit{Started: time.Now()}
	kills := memoryKills()
	logs := &logFiles{dir: r.Dir.Logs(), size: cmp.Or(opts.LogSize, DefaultLogSize), keep: cmp.Or(opts.LogFiles, DefaultLogFiles)}
	status, err := func() (syscall.WaitStatus, error) {
		if err := r.writeFiles(); err != nil {
			return 0, err
		}
		if r.Spec.PAI != nil {
			if err := r.prepare(); err != nil {
				return 0, err
			}
			defer os.RemoveAll(r.work())
		}
		var copies sync.WaitGroup
		pid, err := start(opts, logs, &copies)
		if err != nil {
			return 0, err
		}
		status := wait(opts, pid, signals, exit)
		copied := make(chan struct{})
		go func() { copies.Wait(); close(copied) }()
		select {
		case <-copied:
		case <-time.After(copyGrace): // a process that cannot be killed has its output open
		}
		return status, nil
	}()
	// The wall clock may have been set meanwhile.
	exit.Ended = exit.Started.Add(time.Since(exit.Started)).Round(0)
	exit.Started = exit.Started.Round(0)
	switch {
	case err != nil:
		exit.Code = 126
		exit.Reason = fmt.Sprintf("the entry could not be started: %v", err)
		logs.write(job.LogLine{Time: time.Now(), Stream: job.Stderr, Text: []byte("pfs: " + exit.Reason)}.Append(nil))
	case status.Signaled():
		exit.Code = 128 + int(status.Signal())
		exit.Signal = unix.SignalName(status.Signal())
	default:
		exit.Code = status.ExitStatus()
	}
	if exit.Reason == "" && exit.Stopped && opts.Grace > 0 && exit.Signal == "SIGKILL" && memoryKills() == kills {
		exit.Reason = fmt.Sprintf("killed by SIGKILL, because it was asked to end and had not ended after %v", opts.Grace)
	}
	if exit.Reason == "" {
		exit.Reason = reason(exit.Code, memoryKills() > kills)
	}
	logs.mu.Lock()
	if logs.lost > 0 {
		exit.Reason = strings.TrimPrefix(fmt.Sprintf("%s; %d bytes of the log are lost: %v", exit.Reason, logs.lost, logs.cause), "; ")
	}
	logs.mu.Unlock()
	logs.close()
	return exit
}

// start starts the entry. The copies end when no process has its output open any more.
func start(opts Options, logs *logFiles, copies *sync.WaitGroup) (pid int, err error) {
	r := opts.Rank
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer stdin.Close()
	stdout, stdoutEnd, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer stdoutEnd.Close()
	stderr, stderrEnd, err := os.Pipe()
	if err != nil {
		stdout.Close()
		return 0, err
	}
	defer stderrEnd.Close()
	dir, command := r.Package, []string{"/bin/sh", "-c", r.entry()}
	if r.Spec.PAI != nil {
		dir = r.work()
	}
	if r.Tools != "" {
		command = []string{r.Tools, r.Spec.Tool}
	}
	p, err := os.StartProcess(command[0], command, &os.ProcAttr{
		Dir:   dir,
		Env:   r.Environ(opts.Env),
		Files: []*os.File{stdin, stdoutEnd, stderrEnd},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		stdout.Close()
		stderr.Close()
		return 0, err
	}
	copies.Go(func() { defer stdout.Close(); logs.copyLines(stdout, job.Stdout, opts.Stdout) })
	copies.Go(func() { defer stderr.Close(); logs.copyLines(stderr, job.Stderr, opts.Stderr) })
	pid = p.Pid
	return pid, p.Release()
}

// reason explains the exit code of an entry in the user's terms.
func reason(code int, memory bool) string {
	switch code {
	case 0:
		return ""
	case 126:
		return "the entry cannot be executed (exit code 126); the log has the message"
	case 127:
		return "a command of the entry was not found (exit code 127); the log has its name"
	case 128 + int(syscall.SIGKILL):
		if memory {
			return "killed for lack of memory: the rank used more than its limit"
		}
		return "killed by SIGKILL, which the kernel also sends when the machine has no memory left"
	}
	if name := unix.SignalName(syscall.Signal(code - 128)); code > 128 && name != "" {
		return fmt.Sprintf("ended by %s (%v)", name, syscall.Signal(code-128))
	}
	return fmt.Sprintf("exit code %d", code)
}

// wait passes signals on until the entry and all its descendants have ended.
func wait(opts Options, pid int, signals <-chan os.Signal, exit *job.Exit) (status syscall.WaitStatus) {
	ended, all := make(chan syscall.WaitStatus, 1), make(chan struct{})
	go reap(pid, ended, all)
	var kill <-chan time.Time
	for tries := 0; ; {
		select {
		case s := <-signals:
			if s := s.(syscall.Signal); ended != nil || exit.Stopped {
				_ = syscall.Kill(-pid, s) // it may just have ended
				if (s == syscall.SIGTERM || s == syscall.SIGINT) && !exit.Stopped {
					exit.Stopped = true
					if opts.Grace > 0 {
						kill = time.After(opts.Grace)
					}
				}
			}
		case status = <-ended:
			ended = nil
			if exit.Stopped {
				// The shell has ended first. The program has the signal, too, and may be saving its state.
				signalDescendants(syscall.SIGTERM, pid)
				if kill == nil {
					kill = time.After(stopGrace)
				}
				continue
			}
			signalDescendants(syscall.SIGTERM, 0)
			kill = time.After(leftGrace)
		case <-kill:
			if tries++; tries > killTries {
				exit.Reason = "processes of the entry cannot be killed"
				return status
			}
			signalDescendants(syscall.SIGKILL, 0)
			kill = time.After(killAgain)
		case <-all:
			select {
			case status = <-ended:
			default:
			}
			return status
		}
	}
}

// reap waits for all children. It sends the status of the child pid to ended, and closes all when no
// child is left.
func reap(pid int, ended chan<- syscall.WaitStatus, all chan<- struct{}) {
	defer close(all)
	for {
		var status syscall.WaitStatus
		child, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return
		case child == pid:
			ended <- status
		}
	}
}
