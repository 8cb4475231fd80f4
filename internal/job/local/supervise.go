//go:build linux

package local

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/output"
	"github.com/paddlecloud/pfs/internal/job/stage"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

const (
	readyFD   = 3 // of a supervisor: where it says readyText
	readyText = "ready\n"
)

// boundedLog is the file with the messages of a supervisor. It is emptied when it is full.
type boundedLog struct{ *os.File }

func (l boundedLog) Write(p []byte) (int, error) {
	const most = 1 << 20
	if info, err := l.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > most {
		_ = l.Truncate(0) // the file is open for appending
	}
	return l.File.Write(p)
}

// errKilled is the cause of cancellation when the job is killed.
var errKilled = errors.New("the job was killed")

// supervisor carries out one job.
type supervisor struct {
	opts   Options
	dir    dir
	log    *slog.Logger
	state  *state
	pool   *transfer.Pool // of all uploaders
	groups string         // the control group for those of the ranks; empty if nothing is limited
	notes  []string       // what the job does without
	store  publisher
	killed chan struct{} // closed by a request to end the job
}

// Supervise runs the job in the directory name until it has ended. It returns at once if another process
// does that. If ctx ends first, the ranks continue, and another supervisor can take over.
func Supervise(ctx context.Context, opts Options, name string) error {
	s := &supervisor{opts: opts, dir: dir(name), log: slog.New(slog.NewTextHandler(boundedLog{os.Stderr}, nil)), killed: make(chan struct{}),
		pool: transfer.NewPool(output.DefaultMemory)}
	s.store = publisher{fsys: opts.FS, log: s.log, wake: make(chan struct{}, 1)}
	ready := os.NewFile(readyFD, "ready")
	defer ready.Close()
	lock, err := tryLock(s.dir.file(lockFile))
	if err != nil {
		return err
	}
	if lock != nil {
		defer lock.Close()
		if s.state, err = s.dir.load(); err != nil {
			return err
		}
	}
	if _, err := ready.WriteString(readyText); err != nil {
		return err
	}
	ready.Close()
	if lock == nil {
		return nil
	}
	return s.run(ctx)
}

// run carries out the job.
func (s *supervisor) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	published := make(chan struct{})
	background.Go(func() {
		if s.store.run(ctx) {
			close(published)
		}
	})
	background.Go(func() { s.watchKill(ctx) })
	s.log.Info("the supervisor has begun", "job", s.state.Record.Spec.Name, "state", s.state.Record.State)
	if !s.state.Record.State.Ended() {
		if err := s.carryOut(ctx); err != nil {
			return err
		}
	}
	if err := unmount(s.opts, s.dir, s.state); err != nil {
		s.log.Error(err.Error()) // the next use of the engine tries it again
	}
	// The store should have the last record, too, and a marker for each run. If it is away, the next use of
	// the engine starts a supervisor again.
	s.store.set(&s.state.Record)
	select {
	case <-published:
		if err := s.abandon(ctx); err != nil {
			s.log.Error("outputs without a marker", "error", err)
			if ctx.Err() != nil || pfs.KindOf(err).Temporary() {
				return nil
			}
		}
		s.state.Published = true
		return s.dir.save(s.state)
	case <-time.After(publishPatience):
	case <-ctx.Done():
	}
	return nil
}

// abandon has incomplete outputs marked as such where an uploader could not write a marker.
func (s *supervisor) abandon(ctx context.Context) error {
	r := &s.state.Record
	for n := 1; n <= r.Attempt; n++ {
		for i := range r.Workers {
			w := &r.Workers[i]
			if n < r.Attempt {
				w = &job.Worker{Name: w.Name, Attempt: n}
			} else if w.Outputs != "" && w.Restarts == 0 {
				continue
			}
			reason := cmp.Or(w.Reason, "the program has ended")
			if err := output.Abandon(ctx, s.opts.FS, &r.Spec, w, "the uploader could not commit the outputs: "+reason); err != nil {
				return err
			}
		}
	}
	return nil
}

// carryOut runs attempts until the job has ended. After an error the supervisor cannot continue.
func (s *supervisor) carryOut(ctx context.Context) error {
	r := &s.state.Record
	s.mount()
	var err error
	if s.groups, err = groupsFor(cgroups, "/proc/self/cgroup"); err != nil {
		s.notes = append(s.notes, err.Error())
	}
	for _, note := range s.notes {
		s.log.Warn(note)
	}
	inputs, err := s.stage(ctx)
	if inputs != nil {
		defer inputs.Close()
	}
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		state := job.Failed
		if errors.Is(err, errKilled) {
			state = job.Killed
		}
		return s.end(ctx, state, err.Error())
	}
	if r.Attempt == 0 {
		if err := s.begin(1); err != nil {
			return s.end(ctx, job.Failed, err.Error())
		}
	}
	for {
		a := &attempt{supervisor: s}
		state, reason, err := a.run(ctx)
		if err != nil {
			return err
		}
		last := a.final || r.Spec.Restart == job.RestartRank // a rank has used up its restarts
		if state != job.Failed || last || r.Attempt >= r.Spec.MaxAttempts {
			if state == job.Failed && r.Spec.MaxAttempts > 1 && !last {
				reason += fmt.Sprintf("; that was attempt %d of %d", r.Attempt, r.Spec.MaxAttempts)
			}
			return s.end(ctx, state, reason)
		}
		s.log.Info("the attempt has failed", "attempt", r.Attempt, "reason", reason)
		if err := s.begin(r.Attempt + 1); err != nil {
			return s.end(ctx, job.Failed, err.Error())
		}
		r.Reason = fmt.Sprintf("attempt %d failed: %s", r.Attempt-1, reason)
		s.save()
	}
}

// begin prepares attempt n.
func (s *supervisor) begin(n int) error {
	r := &s.state.Record
	var ports []int // of each rank
	trainers := 0
	for _, role := range r.Spec.Roles {
		need := 1
		if r.Spec.PAI != nil {
			need = role.PortCount()
		}
		if r.Spec.Gloo() {
			need = 2
		}
		ports = append(ports, slices.Repeat([]int{need}, role.Replicas)...)
		if !r.Spec.Serves(role.Name) {
			trainers += role.Replicas
		}
	}
	all, err := endpoints(ports)
	if err != nil {
		return err
	}
	s.state.Trainers, s.state.Pservers = all[:trainers], all[trainers:]
	s.state.Boot, s.state.Began = bootID(), uptime()
	if n == 1 {
		r.Started = now()
	}
	r.Attempt, r.State, r.Reason, r.Workers = n, job.Pending, "", nil
	for _, role := range r.Spec.Roles {
		for i := range role.Replicas {
			r.Workers = append(r.Workers, job.Worker{Name: job.WorkerName(role.Name, i), Role: role.Name, Index: i, Attempt: n, State: job.Pending})
		}
	}
	s.save()
	return nil
}

// end records the end of the job.
func (s *supervisor) end(ctx context.Context, state job.State, reason string) error {
	r := &s.state.Record
	r.State, r.Reason, r.Ended = state, reason, now()
	s.log.Info("the job has ended", "state", state, "reason", reason)
	s.store.set(r)
	// Until this is on disk, a takeover would run the job again.
	for {
		s.state.Published = false
		err := s.dir.save(s.state)
		if err == nil {
			return nil
		}
		s.log.Error("the state cannot be written", "error", err)
		if _, gone := os.Lstat(string(s.dir)); errors.Is(gone, os.ErrNotExist) {
			return gone // nobody can take over
		}
		if ctx.Err() != nil {
			return err
		}
		_ = retry.Sleep(ctx, time.Second)
	}
}

// now returns the time as records have it.
func now() time.Time { return time.Now().Round(0).UTC() }

// save writes the state. A full disk does not end a job: the state is written again with the next change,
// and a takeover finds out from the directories of the ranks what it lacks.
func (s *supervisor) save() {
	s.state.Published = false
	if err := s.dir.save(s.state); err != nil {
		s.log.Error("the state cannot be written", "error", err)
	}
	s.store.set(&s.state.Record)
}

// obstacle returns why the files of the job cannot be written; "" if they can.
func (s *supervisor) obstacle() string {
	const block = 4096
	probe := s.dir.file("probe")
	err := os.WriteFile(probe, make([]byte, block), 0o600)
	os.Remove(probe)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "no space left on " + string(s.dir)
	case err != nil:
		return err.Error()
	}
	return ""
}

// watchKill closes killed when the end of the job is requested.
func (s *supervisor) watchKill(ctx context.Context) {
	for {
		if _, err := os.Stat(s.dir.file(killFile)); err == nil {
			close(s.killed)
			return
		}
		if retry.Sleep(ctx, poll) != nil {
			return
		}
	}
}

// mount makes the tree /pfs available, if it is not. A job can do without it, so a failure is only noted.
func (s *supervisor) mount() {
	st := s.state
	if st.Root != "" && st.Root != s.dir.mount() {
		return
	}
	at := filepath.Join(s.dir.mount(), st.Record.Spec.Datacenter)
	noRoot := ""
	if !isMounted(at) {
		if err := os.MkdirAll(at, 0o700); err != nil {
			noRoot = err.Error()
		} else if said, err := s.opts.Command(Mount, at).CombinedOutput(); err != nil {
			noRoot = cmp.Or(strings.TrimSpace(string(said)), err.Error())
			os.Remove(at)
			os.Remove(s.dir.mount())
		}
	}
	if noRoot == "" {
		st.Root = s.dir.mount()
	} else {
		s.notes = append(s.notes, "PFS_ROOT is not set, because the tree could not be mounted: "+noRoot)
	}
	s.save()
}

// unmount ends the mount of a job, also one on top of another, which a supervisor that was killed has left.
func unmount(opts Options, d dir, s *state) error {
	at := filepath.Join(d.mount(), s.Record.Spec.Datacenter)
	for isMounted(at) {
		if said, err := opts.Command(Unmount, at).CombinedOutput(); err != nil {
			return pfs.Errorf("local.unmount", "", pfs.Unavailable, "the mount %s of the job was not ended: %v: %s", at, err, bytes.TrimSpace(said))
		}
	}
	os.Remove(at) // empty, or not there
	os.Remove(d.mount())
	return nil
}

// stage copies package and inputs to this machine. The inputs stay until they are closed.
func (s *supervisor) stage(ctx context.Context) (*stage.Inputs, error) {
	spec := &s.state.Record.Spec
	links := s.dir.file(inputsDir)
	if s.state.Staged {
		if inputs, err := stage.Hold(links, spec.Inputs); err == nil {
			return inputs, nil
		}
	}
	ctx, cancel := context.WithCancelCause(retry.With(ctx, retry.New(retry.Default, nil)))
	defer cancel(nil)
	go func() {
		select {
		case <-s.killed:
			cancel(errKilled)
		case <-ctx.Done():
		}
	}()
	s.state.Record.Reason = "package and inputs are being copied to this machine"
	s.save()
	err := s.copyPackage(ctx)
	var inputs *stage.Inputs
	if err == nil {
		inputs, err = stage.Stage(ctx, stage.Options{FS: s.opts.FS, Dir: s.opts.Inputs, Told: func(text string) { s.log.Info(text) }}, spec.Inputs, links)
	}
	if errors.Is(context.Cause(ctx), errKilled) {
		err = errKilled
	}
	if err == nil {
		s.state.Staged, s.state.Record.Reason = true, ""
		s.save()
	}
	return inputs, err
}

// copyPackage copies the package to this machine.
func (s *supervisor) copyPackage(ctx context.Context) error {
	spec := &s.state.Record.Spec
	if spec.Package == "" {
		return nil
	}
	local, err := localfs.New(string(s.dir), localfs.Options{NoSync: true})
	if err != nil {
		return err
	}
	defer local.Close()
	copies, err := transfer.New(transfer.Options{Origin: spec.Datacenter})
	if err != nil {
		return err
	}
	err = copies.Copy(ctx, transfer.End{FS: s.opts.FS, Path: spec.Package}, transfer.End{FS: local, Path: "/" + packageDir})
	if err != nil {
		return fmt.Errorf("the package could not be copied to this machine: %w", err)
	}
	return nil
}
