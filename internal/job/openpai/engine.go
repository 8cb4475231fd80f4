package openpai

import (
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// Name is the name of the engine.
const Name = "openpai"

// Options connect an Engine to its service.
type Options struct {
	Config Config
	// Datacenter is the one whose jobs these are.
	Datacenter string
	// Login begins a session of a user for the tasks of a job, and Logout ends it.
	Login  func(user string) (session string, err error)
	Logout func(ctx context.Context, session string) error
	// Store returns the namespace as the user sees it.
	Store func(user string) (pfs.FileSystem, error)
	// Commit writes the marker of an attempt whose workers have all succeeded. Its error names the workers whose outputs are
	// missing or incomplete.
	Commit func(ctx context.Context, fsys pfs.FileSystem, spec *job.Spec, attempt int, workers []string) error
	// Abandon writes the marker for incomplete outputs if w has no marker, and sets it in w. It is called when no uploader of
	// w is left.
	Abandon func(ctx context.Context, fsys pfs.FileSystem, spec *job.Spec, w *job.Worker, reason string) error
	// Exit returns the exit record of w, nil if the store has none.
	Exit func(ctx context.Context, fsys pfs.FileSystem, spec *job.Spec, w *job.Worker) (*job.Exit, error)
	Log  *slog.Logger
}

// Engine runs jobs on one cluster.
type Engine struct {
	Options
	c *client

	locks [64]sync.Mutex // of jobs, by a hash of user and name: one change at a time
	seed  maphash.Seed

	mu      sync.Mutex
	settled map[string]bool // jobs in OpenPAI that have ended and need nothing more
}

var _ job.Engine = (*Engine)(nil)

// New returns an engine. It sends no request.
func New(opts Options) (*Engine, error) {
	e := &Engine{Options: opts, seed: maphash.MakeSeed(), settled: map[string]bool{}}
	for _, name := range []string{opts.Config.PasswordFile, opts.Config.TokenFile, opts.Config.AgentFile} {
		if name == "" {
			continue
		}
		if _, err := os.Stat(name); err != nil {
			return nil, pfs.Errorf("openpai.New", "", pfs.Invalid, "%w", err)
		}
	}
	e.c = newClient(&e.Config)
	return e, nil
}

// lock locks a job for this process, and returns the function that unlocks it.
func (e *Engine) lock(user, name string) func() {
	m := &e.locks[maphash.String(e.seed, user+"/"+name)%uint64(len(e.locks))]
	m.Lock()
	return m.Unlock
}

const submitOp = "openpai.Submit"

// check refuses what this engine cannot run.
func (e *Engine) check(spec *job.Spec) error {
	bad := func(format string, args ...any) error { return pfs.Errorf(submitOp, "", pfs.Invalid, format, args...) }
	path := string(job.Dir(spec.Datacenter, spec.User, spec.Name)) + e.Config.CodeURI
	switch {
	case spec.Engine != "" && spec.Engine != Name:
		return bad("this datacenter has no engine %q; there is %q", spec.Engine, Name)
	case spec.Image == "" && e.Config.Image == "":
		return bad("an image is needed on OpenPAI: add -image")
	case spec.Tool != "":
		return bad("the engine openpai runs no %s: use --engine local", spec.Tool)
	case spec.Registry != "":
		return bad("the engine openpai keeps no registries: name an image that the machines of OpenPAI can pull, without -registry")
	case len(spec.Claims) > 0 || len(spec.NodeSelector) > 0 || spec.Gloo():
		return bad("claims, node selectors and Gloo are of Kubernetes: leave out --claim, --node-selector and PADDLE_WITH_GLOO")
	case spec.Restart == job.RestartRank:
		return bad("OpenPAI cannot start one process of a job again: use --restart job")
	case spec.Scheduler != "" || spec.Priority != "":
		return bad("OpenPAI has a scheduler of its own: leave out --scheduler and --priority; --queue names the virtual cluster")
	case len(nameOf(spec, 1)) > maxNamePAI:
		return bad("the names of the job and of its user are too long for OpenPAI, which allows %d characters for %s", maxNamePAI, nameOf(spec, 1))
	case strings.ContainsAny(path, " \t\n'\"\\`&;|<>()*?[]#!"):
		return bad("the path %s cannot be in a command of OpenPAI", path)
	}
	return nil
}

// roleName matches what version 2 allows.
var roleName = regexp.MustCompile(`^[a-zA-Z_]\w*$`)

// checkAll makes all checks of a submission. It returns the version of the API.
func (e *Engine) checkAll(ctx context.Context, spec *job.Spec) (string, error) {
	if err := e.check(spec); err != nil {
		return "", err
	}
	api, err := e.c.version(ctx)
	if err != nil {
		return "", err
	}
	if api == V1 && len(e.Config.Storages) > 0 {
		return "", pfs.Errorf(submitOp, "", pfs.Invalid, "version 1 of OpenPAI knows no storages: the administrator must leave the option out")
	}
	for _, r := range spec.Roles {
		if n := slices.IndexFunc(r.Ports, func(p job.Port) bool { return p.First != 0 }); api == V2 && n >= 0 {
			return "", pfs.Errorf(submitOp, "", pfs.Invalid, "version 2 of OpenPAI chooses all ports itself: leave out the number %d of the port %q of %s", r.Ports[n].First, r.Ports[n].Label, r.Name)
		}
		if api == V2 && !roleName.MatchString(r.Name) {
			return "", pfs.Errorf(submitOp, "", pfs.Invalid, "version 2 of OpenPAI does not allow the name %q of a task role: it has letters, digits and '_', and begins with no digit", r.Name)
		}
	}
	return api, e.c.checkCluster(ctx, e.Config.cluster(spec))
}

// Plan makes the checks of Submit and returns the job that it would create, without its session.
func (e *Engine) Plan(ctx context.Context, spec *job.Spec) ([]json.RawMessage, error) {
	api, err := e.checkAll(ctx, spec)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(e.Config.object(api, spec, 1, "******"))
	return []json.RawMessage{text}, err
}

// Submit starts a job.
func (e *Engine) Submit(ctx context.Context, spec *job.Spec) error {
	if _, err := e.checkAll(ctx, spec); err != nil {
		return err
	}
	defer e.lock(spec.User, spec.Name)()
	fsys, err := e.Store(spec.User)
	if err != nil {
		return err
	}
	r, err := job.ReadRecord(ctx, fsys, spec.Datacenter, spec.User, spec.Name)
	switch {
	case errors.Is(err, pfs.NotExist):
		r = &job.Record{Submitted: time.Now().UTC()}
	case err != nil:
		return err
	case r.Spec.ID != spec.ID:
		return pfs.Errorf(submitOp, "", pfs.Exist, "the name is in use by a job that is %s: choose another one, or \"paddlectl kill -rm %s\"", r.State, spec.Name)
	case r.State != job.Submitting:
		return nil // this request was sent before, and its answer was lost
	}
	r.Spec, r.Engine, r.State, r.Attempt, r.Reason = *spec, Name, job.Pending, 1, "OpenPAI: submitted"
	err = e.begin(ctx, fsys, spec, 1)
	if k := pfs.KindOf(err); err != nil && (k == pfs.Unavailable || k == pfs.Canceled) { // OpenPAI may have got the request
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		switch _, asked := e.c.get(after, nameOf(spec, 1)); {
		case asked == nil:
			ctx, err = after, nil
		case !errors.Is(asked, pfs.NotExist):
			return err // the job may run, and needs its session
		}
	}
	if err == nil {
		if err = job.WriteRecord(ctx, fsys, r); err == nil {
			return nil
		}
		err = errors.Join(err, e.takeBack(ctx, spec))
	}
	return errors.Join(err, e.clear(context.WithoutCancel(ctx), fsys, spec))
}

// takeBack stops the job of a failed submission.
func (e *Engine) takeBack(ctx context.Context, spec *job.Spec) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := e.c.stop(ctx, nameOf(spec, 1)); err != nil {
		return pfs.Errorf(submitOp, "", pfs.KindOf(err), "and the job %s in OpenPAI could not be stopped: %w", nameOf(spec, 1), err)
	}
	return nil
}

// begin creates the job of an attempt. It can be repeated.
func (e *Engine) begin(ctx context.Context, fsys pfs.FileSystem, spec *job.Spec, attempt int) error {
	api, err := e.c.version(ctx)
	if err != nil {
		return err
	}
	login, err := e.session(ctx, fsys, spec)
	if err != nil {
		return err
	}
	if err := e.upload(ctx, fsys, spec, api); err != nil {
		return err
	}
	return e.c.submit(ctx, nameOf(spec, attempt), e.Config.object(api, spec, attempt, login), mark(spec))
}

// session returns the session of a job, which all its attempts share. It is in the store, so that any replica can end it.
func (e *Engine) session(ctx context.Context, fsys pfs.FileSystem, spec *job.Spec) (string, error) {
	dir := filesDir(spec)
	login, err := readSmall(ctx, fsys, dir.Join(loginName))
	if !errors.Is(err, pfs.NotExist) {
		return login, err
	}
	if login, err = e.Login(spec.User); err != nil {
		return "", err
	}
	if err = pfs.MkdirAll(ctx, fsys, dir, 0o700); err == nil {
		err = put(ctx, fsys, dir.Join(loginName), strings.NewReader(login), int64(len(login)), 0o600)
	}
	if err != nil {
		return "", errors.Join(err, e.Logout(context.WithoutCancel(ctx), login))
	}
	return login, nil
}

// upload puts pfs-agent beside the session, if this is asked for and it is not there yet.
func (e *Engine) upload(ctx context.Context, fsys pfs.FileSystem, spec *job.Spec, api string) error {
	if api != V1 || e.Config.AgentFile == "" {
		return nil
	}
	f, err := os.Open(e.Config.AgentFile)
	if err != nil {
		return pfs.Errorf(submitOp, "", pfs.Unavailable, "pfs-agent for OpenPAI: %w", err)
	}
	defer f.Close()
	own, err := f.Stat()
	if err != nil {
		return err
	}
	name := filesDir(spec).Join(agentName)
	if info, err := fsys.Stat(ctx, name); err == nil && info.Size == own.Size() {
		return nil
	}
	return put(ctx, fsys, name, f, own.Size(), 0o755)
}

// clear ends the session of a job, and removes its files for OpenPAI.
func (e *Engine) clear(ctx context.Context, fsys pfs.FileSystem, spec *job.Spec) error {
	dir := filesDir(spec)
	login, err := readSmall(ctx, fsys, dir.Join(loginName))
	if err == nil {
		err = e.Logout(ctx, login)
	}
	if err == nil || errors.Is(err, pfs.NotExist) {
		err = pfs.RemoveTree(ctx, fsys, dir)
	}
	if errors.Is(err, pfs.NotExist) {
		return nil
	}
	return err
}

// maxLogin bounds the size of a session.
const maxLogin = 4096

// readSmall returns the content of a small file.
func readSmall(ctx context.Context, fsys pfs.FileSystem, path pfs.Path) (string, error) {
	f, err := fsys.Open(ctx, path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if f.Info().Size > maxLogin {
		return "", pfs.Errorf("openpai.readSmall", path, pfs.Integrity, "this is not the session of a job")
	}
	data := make([]byte, f.Info().Size)
	err = pfs.ReadFull(ctx, f, data, 0)
	return string(data), err
}

// put writes a file as a whole.
func put(ctx context.Context, fsys pfs.FileSystem, path pfs.Path, from io.Reader, size int64, mode fs.FileMode) error {
	w, err := fsys.Create(ctx, path, pfs.CreateOptions{Size: size})
	if err != nil {
		return err
	}
	defer w.Close(ctx)
	chunk := make([]byte, min(size, pfs.ChunkSize))
	for off := int64(0); off < size; {
		n, err := io.ReadFull(from, chunk[:min(int64(len(chunk)), size-off)])
		if err != nil {
			return pfs.Errorf("openpai.put", path, pfs.Conflict, "the source has become shorter: %w", err)
		}
		if _, err := w.WriteAt(ctx, chunk[:n], off); err != nil {
			return err
		}
		off += int64(n)
	}
	_, err = w.Commit(ctx, pfs.CommitOptions{Size: size, Mode: mode})
	return err
}

// readRecord reads the record of a job. Its file is the user's, who may have changed it: no size in it may be one that Submit refuses.
func (e *Engine) readRecord(ctx context.Context, fsys pfs.FileSystem, user, name string) (*job.Record, error) {
	r, err := job.ReadRecord(ctx, fsys, e.Datacenter, user, name)
	if err == nil {
		err = intact(r)
	}
	return r, err
}

// intact refuses a record that Submit has not written.
func intact(r *job.Record) error {
	if err := r.Spec.Check(); err != nil {
		return pfs.Errorf("openpai.record", job.RecordPath(r.Spec.Datacenter, r.Spec.User, r.Spec.Name), pfs.Integrity, "somebody has changed the record of the job: %v", err)
	}
	return nil
}

// record reads the record of a job of this engine.
func (e *Engine) record(ctx context.Context, user, name string) (pfs.FileSystem, *job.Record, error) {
	fsys, err := e.Store(user)
	if err != nil {
		return nil, nil, err
	}
	r, err := e.readRecord(ctx, fsys, user, name)
	if err == nil && (r.Engine != Name || r.State == job.Submitting) {
		err = pfs.Errorf("openpai.record", "", pfs.NotExist, "there is no job %q", name)
	}
	return fsys, r, err
}

// Jobs returns the user's jobs.
func (e *Engine) Jobs(ctx context.Context, user string) (list []job.Record, err error) {
	fsys, err := e.Store(user)
	if err != nil {
		return nil, err
	}
	all, err := e.c.list(ctx)
	if err != nil {
		return nil, err
	}
	states := map[string]string{}
	for _, s := range all {
		states[s.Name] = s.State
	}
	for r, err := range job.Records(ctx, fsys, e.Datacenter, user) {
		switch {
		case err != nil && pfs.KindOf(err).Temporary():
			return nil, err
		case err != nil || r.Engine != Name || r.State == job.Submitting || intact(r) != nil:
			continue // paddlectl reports damaged records
		}
		name := nameOf(&r.Spec, r.Attempt)
		switch state := states[name]; {
		case !r.State.Ended() && over(state):
			r.State, r.Reason = job.Uploading, "OpenPAI has ended it ("+strings.ToLower(state)+"), and its outputs are being checked"
		case r.State == job.Pending && state == running: // since the last pass, or its tasks wait
			if d, err := e.c.get(ctx, name); err == nil {
				judge(r, d)
			}
		}
		list = append(list, *r)
	}
	return list, nil
}

// Job returns one job.
func (e *Engine) Job(ctx context.Context, user, name string) (*job.Record, error) {
	_, r, err := e.record(ctx, user, name)
	if errors.Is(err, pfs.NotExist) && r != nil && r.State == job.Submitting {
		return e.lost(ctx, r)
	}
	if err != nil || r.State.Ended() {
		return r, err
	}
	d, err := e.c.get(ctx, nameOf(&r.Spec, r.Attempt))
	switch {
	case errors.Is(err, pfs.NotExist):
		r.Reason = gone(r)
		return r, nil
	case err != nil:
		return nil, err
	}
	if over(d.Status.State) { // nobody should wait for the next pass
		defer e.lock(user, name)()
		fsys, now, err := e.record(ctx, user, name)
		if err != nil || now.State.Ended() {
			return now, err
		}
		if err := e.advance(ctx, fsys, now); err != nil {
			e.Log.Warn("a job cannot go on", "user", user, "job", name, "err", err)
		}
		return now, nil
	}
	judge(r, d)
	return r, nil
}

// lost returns a job whose submission ended before its record was written, if OpenPAI has it.
func (e *Engine) lost(ctx context.Context, r *job.Record) (*job.Record, error) {
	d, err := e.c.get(ctx, nameOf(&r.Spec, 1))
	if err != nil {
		if errors.Is(err, pfs.NotExist) {
			err = pfs.Errorf("openpai.Job", "", pfs.NotExist, "there is no job %q", r.Spec.Name)
		}
		return nil, err
	}
	r.Engine, r.State, r.Attempt = Name, job.Pending, 1
	judge(r, d)
	return r, nil
}

// gone says that OpenPAI has forgotten a job.
func gone(r *job.Record) string {
	return "OpenPAI does not know the job " + nameOf(&r.Spec, r.Attempt) + " any more: somebody removed it"
}

// Delete forgets a job that has ended. OpenPAI keeps its history.
func (e *Engine) Delete(ctx context.Context, user, name string) error {
	fsys, r, err := e.record(ctx, user, name)
	if err != nil {
		return err
	}
	if !r.State.Ended() {
		return pfs.Errorf("openpai.Delete", "", pfs.Conflict, "the job has not ended: \"paddlectl kill %s\" ends it", name)
	}
	return e.clear(ctx, fsys, &r.Spec)
}

// Quota returns no limits: OpenPAI has those of virtual clusters.
func (e *Engine) Quota(context.Context, string) ([]job.Quota, error) { return nil, nil }
