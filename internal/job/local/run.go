//go:build linux

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/launch"
	"github.com/paddlecloud/pfs/internal/job/output"
)

// The files of a run besides those of job.RankDir, in RankDir.Run.
const (
	launchFile     = "launch.json"    // what the launcher reads
	launchLock     = "launch.lock"    // held by the launcher
	launchPID      = "launch.pid"     // its process, written before the entry starts
	launcherLog    = "launcher.log"   // its own messages
	launchFD       = 3                // of a launcher: the lock
	killAfterGrace = 15 * time.Second // from the end of the grace period, for the launcher to kill the entry
)

// launchOptions are the options of a launcher, in a file.
type launchOptions struct {
	Rank    launch.Rank   `json:"rank"`
	Environ string        `json:"environ"` // the file
	Grace   time.Duration `json:"grace"`
}

// run is one run of a rank.
type run struct {
	a      *attempt
	worker *job.Worker
	dir    job.RankDir

	begun     bool // this supervisor has started the launcher
	exit      *job.Exit
	judged    bool
	dismissed bool // asked to end, not because of a failure of its own
	asked     time.Time

	background sync.WaitGroup
	uploading  bool // the uploader was started

	mu         sync.Mutex
	lostReason string // why there will be no exit record
	progress   output.Progress
	uploaded   *job.Uploaded
	failed     error // of the uploader
}

func newRun(a *attempt, w *job.Worker) *run { return &run{a: a, worker: w, dir: a.dir.rank(*w)} }

func (r *run) file(name string) string { return filepath.Join(r.dir.Run(), name) }

// look finds out whether the rank runs, starts it if it never has, and starts its uploader.
func (r *run) look(uploads context.Context) {
	switch {
	case r.exit != nil:
		return
	case isLocked(r.file(launchLock)):
		r.upload(uploads)
		return
	}
	// The launcher is not there. It has written the exit record before it released the lock.
	exit, err := r.dir.ReadExit()
	_, pidErr := os.Stat(r.file(launchPID))
	switch never := errors.Is(pidErr, os.ErrNotExist) && !r.begun; {
	case err == nil && exit != nil:
		r.exit = exit
	case never && !r.a.stopping.IsZero():
		r.exit = &job.Exit{Code: 128 + int(syscall.SIGTERM), Signal: "SIGTERM", Reason: "it had not started yet", Stopped: true}
		return
	case never:
		r.begun = true
		if err := r.start(); err != nil {
			r.exit = &job.Exit{Code: 126, Reason: fmt.Sprintf("the launcher could not be started: %v", err)}
			return
		}
	default:
		r.exit = r.lost(err)
	}
	if r.exit != nil {
		r.group().remove()
	}
	r.upload(uploads)
}

// lost kills the remaining processes of a run without an exit record, and returns the record for it.
func (r *run) lost(err error) *job.Exit {
	reason := "the launcher was killed, so nobody knows how the entry ended"
	if said := tail(r.file(launcherLog)); len(said) > 0 {
		reason = fmt.Sprintf("the launcher failed: %s", said)
	}
	if err != nil {
		reason = fmt.Sprintf("the exit record cannot be read: %v", err)
	}
	if !killAll(r.dir) {
		reason += "; processes of it cannot be killed"
	}
	r.mu.Lock()
	r.lostReason = reason
	r.mu.Unlock()
	return &job.Exit{Code: 128 + int(syscall.SIGKILL), Signal: "SIGKILL", Reason: reason, Started: r.worker.Started, Ended: now(), Stopped: !r.asked.IsZero()}
}

// start starts the launcher. It holds the lock from before it exists until it has ended.
func (r *run) start() error {
	s := r.a.state
	spec := &s.Record.Spec
	if err := r.dir.Make(); err != nil {
		return err
	}
	inputs := ""
	if len(spec.Inputs) > 0 {
		inputs = r.a.dir.file(inputsDir)
	}
	code := r.a.dir.file(packageDir)
	if spec.Package == "" {
		code = ""
	}
	data, err := json.Marshal(launchOptions{
		Rank: launch.Rank{Spec: spec, Inputs: inputs, Role: r.worker.Role, Index: r.worker.Index, Attempt: r.worker.Attempt, Restart: r.worker.Restarts,
			Trainers: s.Trainers, Pservers: s.Pservers, Package: code, Root: s.Root, JobRoot: r.dir.Root(), Dir: r.dir},
		Environ: r.a.dir.file(environFile),
		Grace:   s.Grace,
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.file(launchFile), data, 0o600); err != nil {
		return err
	}
	lock, err := tryLock(r.file(launchLock))
	if err != nil {
		return err
	}
	if lock == nil {
		return errors.New("its lock is held")
	}
	defer lock.Close()
	log, err := os.OpenFile(r.file(launcherLog), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := r.a.opts.Command(Launcher, string(r.dir))
	cmd.Dir = "/"
	cmd.Env = append(cmd.Environ(), "GOGC=off") // until Launch: collections would be a part of the time in which many ranks start
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if g := r.group(); g != "" {
		if g, err = newGroup(filepath.Dir(string(g)), filepath.Base(string(g)), roleOf(spec, r.worker.Role)); err != nil {
			return err
		}
		in, err := os.Open(string(g))
		if err != nil {
			return err
		}
		defer in.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(in.Fd())
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		cmd.Wait() // the exit record says more
		r.a.awake()
	}()
	r.worker.Started = now()
	return nil
}

// group returns the control group of the run; empty if this machine limits nothing.
func (r *run) group() group {
	if r.a.groups == "" {
		return ""
	}
	w := r.worker
	return group(filepath.Join(r.a.groups, fmt.Sprintf("pfs-%s-%d-%s-%d", filepath.Base(string(r.a.dir)), w.Attempt, w.Name, w.Restarts)))
}

// Launch runs the entry of the rank whose supervisor has started this process, and returns its exit code.
func Launch(name string) (int, error) {
	debug.SetGCPercent(100)
	syscall.CloseOnExec(launchFD)
	rank := job.RankDir(name)
	data, err := os.ReadFile(filepath.Join(rank.Run(), launchFile))
	if err != nil {
		return 0, err
	}
	var opts launchOptions
	if err := json.Unmarshal(data, &opts); err != nil {
		return 0, err
	}
	data, err = os.ReadFile(opts.Environ)
	if err != nil {
		return 0, err
	}
	var environ []string
	if err := json.Unmarshal(data, &environ); err != nil {
		return 0, err
	}
	pid := filepath.Join(rank.Run(), launchPID)
	if err := os.WriteFile(pid+".new", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return 0, err
	}
	if err := os.Rename(pid+".new", pid); err != nil {
		return 0, err
	}
	exit, err := launch.Run(launch.Options{Rank: &opts.Rank, Env: environ, Grace: opts.Grace})
	if exit == nil {
		return 0, err
	}
	return exit.Code, err
}

// stop asks the rank to end. Its launcher kills it after the grace period. A launcher that does not do
// that is killed, too.
func (r *run) stop(grace time.Duration) {
	text, err := os.ReadFile(r.file(launchPID))
	pid, _ := strconv.Atoi(string(text))
	if err != nil || pid == 0 || !isLocked(r.file(launchLock)) {
		return // it is starting, or it has ended; the next look will tell
	}
	switch {
	case r.asked.IsZero():
		r.asked = time.Now()
		_ = syscall.Kill(pid, syscall.SIGTERM) // it may have ended
	case time.Since(r.asked) > grace+killAfterGrace:
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// upload starts the uploader, once.
func (r *run) upload(ctx context.Context) {
	if r.uploading {
		return
	}
	r.uploading = true
	spec, w := &r.a.state.Record.Spec, r.worker
	opts := output.Options{
		FS:   r.a.opts.FS,
		Dir:  output.RestartDir(job.OutputDir(spec, w.Attempt, w.Name), w.Restarts),
		Logs: job.LogDir(spec, w.Attempt, w.Name),
		Rank: r.dir,
		More: spec.Outputs,
		Run:  output.Run{Worker: w.Name, Attempt: w.Attempt, Restart: w.Restarts},
		Wait: spec.UploadWait,
		Lost: func(context.Context) string {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.lostReason
		},
		Pool: r.a.pool,
		Progress: func(p output.Progress) {
			r.mu.Lock()
			r.progress = p
			r.mu.Unlock()
		},
	}
	r.background.Go(func() {
		done, err := output.Upload(ctx, opts)
		if err == nil && (done.Marker == output.Success || done.Marker == output.Failed) {
			os.RemoveAll(opts.Rank.Output()) // the store has it all
		}
		r.mu.Lock()
		r.uploaded, r.failed = done, err
		r.mu.Unlock()
		r.a.awake()
	})
}

// result returns the acknowledgement of the uploader or its error. Both are nil while it works.
func (r *run) result() (*job.Uploaded, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.uploaded, r.failed
}

// done reports whether the entry has ended and the uploader is done.
func (r *run) done() bool {
	done, err := r.result()
	return r.exit != nil && (!r.uploading || done != nil || err != nil)
}

// outputs returns the marker and, if outputs are missing, why.
func (r *run) outputs() (marker, reason string) {
	done, err := r.result()
	switch {
	case err != nil:
		return "", err.Error()
	case done != nil:
		return done.Marker, done.Reason
	}
	return "", ""
}

// succeeded reports whether the entry has ended with 0, and nobody had asked it to end.
func (r *run) succeeded() bool { return r.exit.Code == 0 && !r.exit.Stopped }

// reason says why the entry failed, or was ended.
func (r *run) reason() string {
	if r.exit.Stopped && r.exit.Code == 0 && !r.dismissed {
		return "somebody asked it to end, and it ended with 0"
	}
	return r.exit.Reason
}

// pending says what the uploader of an entry that has ended waits for.
func (r *run) pending() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.progress.Reason == "" {
		return "upload pending"
	}
	return "upload pending: " + r.progress.Reason
}

// describe brings the worker up to date.
func (r *run) describe() {
	w := r.worker
	if r.exit == nil {
		if r.begun || r.uploading {
			w.State = job.Running
		}
		return
	}
	w.Reason = r.reason()
	if w.ExitCode == nil {
		code := r.exit.Code
		w.ExitCode, w.Signal = &code, r.exit.Signal
		w.Ended = r.exit.Ended
		if !r.exit.Started.IsZero() {
			w.Started = r.exit.Started
		}
	}
	marker, reason := r.outputs()
	w.Outputs = marker
	if done, _ := r.result(); done != nil {
		w.Rate = done.Rate
	}
	switch {
	case !r.done():
		w.State = job.Uploading
		w.Reason = strings.TrimPrefix(w.Reason+"; "+r.pending(), "; ")
	case r.succeeded() || r.dismissed && r.a.failure == "":
		w.State, w.Reason = job.Succeeded, reason
	case r.dismissed && r.exit.Stopped:
		w.State = job.Killed
	default:
		w.State = job.Failed
	}
}
