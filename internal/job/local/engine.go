//go:build linux

package local

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/output"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"golang.org/x/sys/unix"
)

// poll is the time between two looks at the files of a job.
const poll = 50 * time.Millisecond

// Engine runs jobs on this machine.
type Engine struct{ opts Options }

var _ job.Engine = (*Engine)(nil)

// New returns the engine.
func New(opts Options) (*Engine, error) {
	opts.Grace = cmp.Or(opts.Grace, DefaultGrace)
	return &Engine{opts}, nil
}

// Describe returns the datacenter of the job in the directory name, and Options.Service.
func Describe(name string) (datacenter, service string, err error) {
	s, err := dir(name).load()
	if err != nil {
		return "", "", err
	}
	return s.Record.Spec.Datacenter, s.Service, nil
}

// Datacenter returns the datacenter of the user's jobs names if all of them are below top; "" if not. alias is their
// Options.Service, or the datacenter itself. Without names it is the datacenter of any job.
func Datacenter(top, alias, user string, names []string) (string, error) {
	files, err := filepath.Glob(filepath.Join(top, "*", stateFile))
	if err != nil {
		return "", err
	}
	datacenter, found := "", map[string]bool{}
	for _, file := range files {
		s, err := dir(filepath.Dir(file)).load()
		if err != nil {
			continue // Jobs reports it
		}
		spec := &s.Record.Spec
		if spec.User == user && (s.Service == alias || spec.Datacenter == alias) && (len(names) == 0 || slices.Contains(names, spec.Name)) {
			datacenter, found[spec.Name] = spec.Datacenter, true
		}
	}
	for _, name := range names {
		if !found[name] {
			return "", nil
		}
	}
	return datacenter, nil
}

func (e *Engine) dir(user, name string) dir { return jobDir(e.opts.Dir, e.opts.Datacenter, user, name) }

// Plan returns the Record with which the job would begin.
func (e *Engine) Plan(_ context.Context, spec *job.Spec) ([]json.RawMessage, error) {
	if err := check(spec); err != nil {
		return nil, err
	}
	data, err := json.Marshal(e.record(spec))
	return []json.RawMessage{data}, err
}

// check makes the checks of Submit.
func check(spec *job.Spec) error {
	ranks := 0
	for _, r := range spec.Roles {
		ranks += r.Replicas
	}
	if len(spec.Outputs) > 0 && ranks > 1 {
		return pfs.Errorf("local.Submit", "", pfs.Invalid, "the output directory %s would be that of all %d ranks, which run on one machine: write to $PFS_OUTPUT instead", spec.Outputs[0], ranks)
	}
	taken := map[int]bool{} // ports that roles ask for
	for _, r := range spec.Roles {
		for _, p := range r.Ports {
			for n := range p.Count * r.Replicas {
				port := p.First + n%p.Count
				if p.First > 0 && taken[port] {
					return pfs.Errorf("local.Submit", "", pfs.Invalid, "two processes ask for the port %d (%s) of this machine: write 0 to let the engine choose", port, p.Label)
				}
				taken[port] = true
			}
		}
	}
	return thisMachine().check(spec)
}

// machine is what a worker can have at most.
type machine struct {
	cpus   int
	memory int64 // bytes; 0 if it is unknown
	gpus   int64
}

func thisMachine() machine {
	m := machine{cpus: runtime.NumCPU()}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.memory = int64(info.Totalram) * int64(info.Unit)
	}
	for _, devices := range []string{"/dev/nvidia[0-9]*", "/dev/dri/renderD*"} {
		found, _ := filepath.Glob(devices)
		m.gpus = max(m.gpus, int64(len(found)))
	}
	return m
}

// check returns an error if a worker of spec needs more than the machine has.
func (m machine) check(spec *job.Spec) error {
	for _, r := range spec.Roles {
		what := ""
		switch {
		case r.CPU > 1000*int64(m.cpus):
			what = fmt.Sprintf("%s processors, and this machine has %d", job.FormatCPU(r.CPU), m.cpus)
		case m.memory > 0 && r.Memory > m.memory:
			what = fmt.Sprintf("%s of memory, and this machine has %s", job.FormatMemory(r.Memory), job.FormatMemory(m.memory))
		case r.GPU > m.gpus:
			what = fmt.Sprintf("%d GPUs, and this machine has %d", r.GPU, m.gpus)
			if r.GPU == 1 {
				what = "a GPU, and this machine has none"
			}
		default:
			continue
		}
		return pfs.Errorf("local.Submit", "", pfs.Invalid, "each %s needs %s: ask for less, or use a datacenter whose jobs run on a cluster", r.Name, what)
	}
	return nil
}

func (e *Engine) record(spec *job.Spec) *job.Record {
	host, _ := os.Hostname()
	return &job.Record{Spec: *spec, Engine: Name, Host: host, Submitted: time.Now().Round(0).UTC(), State: job.Pending, Workers: []job.Worker{}}
}

// Submit makes the directory of the job and starts a supervisor.
func (e *Engine) Submit(_ context.Context, spec *job.Spec) error {
	const op = "local.Submit"
	d := e.dir(spec.User, spec.Name)
	old, err := d.load()
	switch {
	case err == nil && old.Record.Spec.ID == spec.ID:
		return e.ensure(d, old) // the same request again
	case err == nil:
		return pfs.Errorf(op, "", pfs.Exist, "the job %q is %s on this machine", spec.Name, strings.ToLower(string(old.Record.State)))
	}
	if err := check(spec); err != nil {
		return err
	}
	if errors.Is(err, os.ErrNotExist) && !isLocked(d.file(lockFile)) { // a submission or a removal was killed; names are unique in the store
		if err := d.onlyHere(op); err != nil {
			return err
		}
		if err := os.RemoveAll(string(d)); err != nil {
			return pfs.E(op, "", pfs.KindOf(err), err)
		}
	}
	if err := os.MkdirAll(e.opts.Dir, 0o700); err != nil {
		return pfs.E(op, "", pfs.KindOf(err), err)
	}
	if err := os.Mkdir(string(d), 0o700); err != nil {
		return pfs.E(op, "", pfs.KindOf(err), err)
	}
	s := &state{Record: *e.record(spec), Service: e.opts.Service, Root: e.opts.Root, Grace: e.opts.Grace}
	err = d.saveEnviron(e.opts.Environ)
	if err == nil {
		err = d.save(s)
	}
	if err == nil {
		err = os.WriteFile(d.file(killFile)+".new", nil, 0o600) // so that a full disk does not prevent Kill
	}
	if err == nil {
		err = e.ensure(d, s)
	}
	if err != nil {
		os.RemoveAll(string(d))
	}
	return err
}

// ensure starts a supervisor if the job needs one and has none.
func (e *Engine) ensure(d dir, s *state) error {
	if _, err := os.Lstat(d.mount()); err != nil && s.Record.State.Ended() && s.Published || isLocked(d.file(lockFile)) {
		return nil
	}
	ready, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		theirs.Close()
		return err
	}
	defer null.Close()
	log, err := os.OpenFile(d.file(logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		theirs.Close()
		return err
	}
	defer log.Close()
	cmd := e.opts.Command(Supervisor, string(d))
	cmd.Dir = "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = null, log, log
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return err
	}
	said, _ := io.ReadAll(ready)
	if bytes.Equal(said, []byte(readyText)) {
		return cmd.Process.Release()
	}
	err = cmd.Wait()
	return pfs.Errorf("local.Submit", "", pfs.Unavailable, "the supervisor did not start (%v); its last messages: %s", err, tail(d.file(logFile)))
}

// tail returns the end of a small file.
func tail(name string) []byte {
	const most = 1000
	data, _ := os.ReadFile(name)
	return bytes.TrimSpace(data[max(0, len(data)-most):])
}

// Jobs returns the jobs of this machine.
func (e *Engine) Jobs(_ context.Context, user string) ([]job.Record, error) {
	names, err := filepath.Glob(filepath.Join(e.opts.Dir, "*", stateFile))
	if err != nil {
		return nil, err
	}
	var records []job.Record
	for _, name := range names {
		d := dir(filepath.Dir(name))
		s, err := d.load()
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		if spec := &s.Record.Spec; spec.User == user && spec.Datacenter == e.opts.Datacenter {
			records = append(records, *e.look(d, s))
		}
	}
	return records, nil
}

// look returns the record of a job, and starts a supervisor if the job needs one.
func (e *Engine) look(d dir, s *state) *job.Record {
	if err := e.ensure(d, s); err != nil {
		s.Record.Reason = strings.TrimPrefix(s.Record.Reason+"; "+err.Error(), "; ")
	}
	return &s.Record
}

// load reads the state of a job, which must exist.
func (e *Engine) load(user, name string) (dir, *state, error) {
	d := e.dir(user, name)
	s, err := d.load()
	if errors.Is(err, os.ErrNotExist) {
		err = pfs.Errorf("local.Job", "", pfs.NotExist, "there is no job %q on this machine", name)
	}
	return d, s, err
}

// Job returns one job.
func (e *Engine) Job(_ context.Context, user, name string) (*job.Record, error) {
	d, s, err := e.load(user, name)
	if err != nil {
		return nil, err
	}
	return e.look(d, s), nil
}

// Kill asks the supervisor to end the job, and waits for the end.
func (e *Engine) Kill(ctx context.Context, user, name string, tell func(*job.Record)) error {
	d, s, err := e.load(user, name)
	if err != nil {
		return err
	}
	if !s.Record.State.Ended() {
		if err := job.WriteFile(d.file(killFile), nil, 0o600); err != nil {
			return err
		}
	}
	var last []byte
	for {
		if err := e.ensure(d, s); err != nil {
			return err
		}
		if now, _ := json.Marshal(s.Record); !bytes.Equal(now, last) && tell != nil {
			last = now
			tell(&s.Record)
		}
		if s.Record.State.Ended() && s.Published {
			break
		}
		if s.Record.State.Ended() && time.Since(s.Record.Ended) > publishPatience {
			return pfs.Errorf("local.Kill", "", pfs.Unavailable, "the job has ended, and the store does not have its record yet: the next command about it tries again")
		}
		if err := retry.Sleep(ctx, poll); err != nil {
			return err
		}
		if s, err = d.load(); err != nil {
			return err
		}
	}
	for _, w := range s.Record.Workers {
		if left := processesOf(d.rank(w)); len(left) > 0 {
			return pfs.Errorf("local.Kill", "", pfs.Conflict, "processes of %s cannot be killed: %v", w.Name, left)
		}
	}
	return nil
}

// Delete removes the directory of a job that has ended. It refuses if the directory has the only copy of outputs.
func (e *Engine) Delete(ctx context.Context, user, name string) error {
	const op, patience = "local.Delete", 5 * time.Second
	d, s, err := e.load(user, name)
	if err != nil {
		return err
	}
	if !s.Record.State.Ended() {
		return pfs.Errorf(op, "", pfs.Conflict, "the job %q is %s", name, strings.ToLower(string(s.Record.State)))
	}
	for end := time.Now().Add(patience); ; {
		lock, err := tryLock(d.file(lockFile))
		if err != nil {
			return err
		}
		if lock != nil {
			defer lock.Close()
			if err := d.onlyHere(op); err != nil {
				return err
			}
			if err := unmount(e.opts, d, s); err != nil {
				return err
			}
			return os.RemoveAll(string(d))
		}
		if time.Now().After(end) {
			return pfs.Errorf(op, "", pfs.Unavailable, "the supervisor of the job %q still writes its record to the store", name)
		}
		if err := retry.Sleep(ctx, poll); err != nil {
			return err
		}
	}
}

// onlyHere returns an error that names the directories with outputs that the store may not have, if there are any. An uploader that
// has all at the store removes its directory.
func (d dir) onlyHere(op string) error {
	var left []string
	runs, _ := filepath.Glob(string(d) + "/attempts/*/*/*")
	for _, run := range runs {
		rank := job.RankDir(run)
		if done, err := rank.ReadUploaded(); err == nil && done != nil && done.Marker != "" && done.Marker != output.Incomplete {
			continue
		}
		if entries, _ := os.ReadDir(rank.Output()); len(entries) > 0 {
			left = append(left, rank.Output())
		}
	}
	if len(left) == 0 {
		return nil
	}
	return pfs.Errorf(op, "", pfs.Conflict, "outputs that could not be uploaded are only on this machine: copy what you need, and remove them: rm -r %s", strings.Join(left, " "))
}

// Quota returns nothing: the limits are those of the machine.
func (e *Engine) Quota(context.Context, string) ([]job.Quota, error) { return nil, nil }
