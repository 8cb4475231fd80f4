// Package submit starts jobs: it uploads the package, reserves the name and calls the engine. If a step
// fails, it removes everything that it has created.
package submit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// Submission is one job to start.
type Submission struct {
	FS     pfs.FileSystem // the tree of the service, as the user sees it
	Engine job.Engine
	Kind   string // of the engine, for the record
	Spec   *job.Spec

	// Package is the local directory to upload. If its FS is nil, Spec.Package is used as it is.
	// Otherwise Submit sets Spec.Package.
	Package transfer.End

	Copy  transfer.Options           // of the upload
	Watch func(*transfer.Job) func() // optional: watches the upload until the function that it returns is called
	Note  func(format string, args ...any)
}

// Plan returns what the engine would create, after all checks of Submit. It changes nothing.
func (s *Submission) Plan(ctx context.Context) ([]json.RawMessage, error) {
	if _, err := s.check(ctx); err != nil {
		return nil, err
	}
	return s.Engine.Plan(ctx, s.Spec)
}

// largePackage is the size in bytes from which a package probably holds data.
const largePackage = 1 << 30

// check checks the spec, the package and the name.
func (s *Submission) check(ctx context.Context) (*content, error) {
	spec := s.Spec
	if s.Package.FS != nil {
		spec.Package = job.PackageDir(spec.Datacenter, spec.User, spec.Name)
	}
	if err := spec.Check(); err != nil {
		return nil, err
	}
	var local *content
	var err error
	if s.Package.FS != nil {
		if local, err = scan(ctx, s.Package); err != nil {
			return nil, err
		}
		if local.chosen {
			s.Note("the package has the %d files that %s chooses for OpenPAI (pai.job.upload)", local.files, settingsFile)
		}
		if local.bytes >= largePackage {
			s.Note("the package has %d bytes, %d of them in %s: training data belongs into inputs (--input), or list it in .paddleignore",
				local.bytes, local.entries[local.largest].size, local.largest)
		}
	} else if spec.Package != "" {
		if err := s.checkRemote(ctx, "package", spec.Package, true); err != nil {
			return nil, err
		}
	}
	if err := s.checkTopology(ctx, local); err != nil {
		return nil, err
	}
	for _, input := range spec.Inputs {
		if err := s.checkRemote(ctx, "input", input, false); err != nil {
			return nil, err
		}
	}
	return local, s.checkFree(ctx)
}

// checkTopology returns an error if the package lacks the file of Spec.Topology.
func (s *Submission) checkTopology(ctx context.Context, local *content) error {
	file := s.Spec.Topology
	if file == "" {
		return nil
	}
	if local == nil {
		p, err := pfs.ParsePath(path.Join(string(s.Spec.Package), file))
		if err != nil {
			return err
		}
		return s.checkRemote(ctx, "topology", p, false)
	}
	if e, ok := local.entries[path.Clean(file)]; !ok || e.dir {
		return pfs.Errorf("submit.check", s.Package.Path, pfs.NotExist, "the package has no file %s, which is the topology, or leaves it out", file)
	}
	return nil
}

// checkRemote checks a path on the service that the job needs.
func (s *Submission) checkRemote(ctx context.Context, what string, p pfs.Path, isDir bool) error {
	const op = "submit.check"
	_, info, err := transfer.End{FS: s.FS, Path: p}.Follow(ctx)
	switch {
	case errors.Is(err, pfs.NotExist):
		return pfs.Errorf(op, p, pfs.NotExist, "the %s is not on the service", what)
	case err != nil:
		return err
	case isDir && !info.IsDir():
		return pfs.Errorf(op, p, pfs.Invalid, "a %s is a directory", what)
	case !isDir:
		return nil
	}
	for _, err := range pfs.Entries(ctx, s.FS, p, nil) {
		return err // something is there, or it cannot be read
	}
	return pfs.Errorf(op, p, pfs.Invalid, "the %s has no files", what)
}

// checkFree returns an error if the name is in use.
func (s *Submission) checkFree(ctx context.Context) error {
	name := s.Spec.Name
	r, err := job.ReadRecord(ctx, s.FS, s.Spec.Datacenter, s.Spec.User, name)
	if err == nil {
		return s.inUse(ctx, r)
	}
	if !errors.Is(err, pfs.NotExist) {
		return err
	}
	var left []string
	for _, dir := range []string{"attempts", "logs"} {
		p := job.Dir(s.Spec.Datacenter, s.Spec.User, name).Join(dir)
		ok, err := pfs.Exists(ctx, s.FS, p)
		if err != nil {
			return err
		}
		if ok {
			left = append(left, string(p))
		}
	}
	if len(left) > 0 {
		return &NameError{Name: name, Text: fmt.Sprintf("%s is of an earlier job", strings.Join(left, " and ")),
			WayOut: fmt.Sprintf("choose another name, or move it away or remove it: rm -r %s", strings.Join(left, " "))}
	}
	return nil
}

// NameError is the refusal of a name that is in use. Its Kind is Exist.
type NameError struct {
	Name   string
	Text   string
	WayOut string
}

func (e *NameError) Error() string { return fmt.Sprintf("job %q: %s", e.Name, e.Text) }

// Unwrap makes pfs.KindOf return Exist.
func (e *NameError) Unwrap() error { return pfs.Exist }

// inUse returns the refusal of the name of the job r, a record of the store. The engine may know more.
func (s *Submission) inUse(ctx context.Context, r *job.Record) error {
	if known, err := s.Engine.Job(ctx, r.Spec.User, r.Spec.Name); err == nil {
		r = known
	}
	return inUse(r)
}

// inUse returns the refusal of the name of the job r.
func inUse(r *job.Record) error {
	name := r.Spec.Name
	e := &NameError{Name: name, Text: "the name is in use, its job is " + string(r.State),
		WayOut: fmt.Sprintf("choose another name, or end that job: kill -rm %s", name)}
	switch {
	case r.State == job.Submitting:
		e.Text = fmt.Sprintf("another submit of this name began at %s", r.Submitted.Local().Format(time.DateTime))
		e.WayOut = fmt.Sprintf("wait for it, or choose another name; if it was interrupted: delete %s", name)
	case r.State == job.Killing:
		e.Text = "a job of this name is still ending"
		e.WayOut = fmt.Sprintf("choose another name, or wait: kill -rm %s", name)
	case r.State.Ended():
		e.Text = "there is an ended job of this name"
		e.WayOut = fmt.Sprintf("choose another name, or remove its record: delete %s; its outputs stay and must be moved away or removed, too: rm -r %s", name, job.Dir(r.Spec.Datacenter, r.Spec.User, name).Join("attempts"))
	}
	return e
}

func (s *Submission) record() *job.Record {
	return &job.Record{Spec: *s.Spec, Engine: s.Kind, Submitted: time.Now().UTC(), State: job.Submitting}
}

// Submit starts the job. If it returns an error, nothing of the job is left, unless the error is a
// *LeftError.
func (s *Submission) Submit(ctx context.Context) error {
	local, err := s.check(ctx)
	if err != nil {
		return err
	}
	if _, err := s.Engine.Plan(ctx, s.Spec); err != nil {
		return err
	}
	u := undo{fsys: s.FS}
	if err := s.create(ctx, local, &u); err != nil {
		return u.run(ctx, s.Spec, err)
	}
	return nil
}

// create reserves the name, uploads the package and starts the job.
func (s *Submission) create(ctx context.Context, local *content, u *undo) error {
	spec := s.Spec
	dir := job.Dir(spec.Datacenter, spec.User, spec.Name)
	for _, p := range []pfs.Path{dir, dir.Parent()} {
		if ok, err := pfs.Exists(ctx, s.FS, p); err != nil {
			return err
		} else if !ok {
			u.dirs = append(u.dirs, p)
		}
	}
	if err := s.reserve(ctx, u); err != nil {
		return err
	}
	if local != nil {
		if ok, err := pfs.Exists(ctx, s.FS, spec.Package); err != nil {
			return err
		} else if !ok {
			u.tree = spec.Package
		}
		target := transfer.End{FS: s.FS, Path: spec.Package}
		if err := local.upload(ctx, s.Package, target, s.Copy, s.Watch); err != nil {
			return err
		}
	}
	return s.start(ctx, u)
}

// reserve creates the record. A record with the ID of this submission is its own: the answer to an
// earlier request was lost.
func (s *Submission) reserve(ctx context.Context, u *undo) error {
	spec := s.Spec
	err := job.CreateRecord(ctx, s.FS, s.record())
	if err == nil {
		u.record = job.RecordPath(spec.Datacenter, spec.User, spec.Name)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	r, readErr := job.ReadRecord(ctx, s.FS, spec.Datacenter, spec.User, spec.Name)
	if readErr != nil {
		return err
	}
	if r.Spec.ID == spec.ID {
		u.record = job.RecordPath(spec.Datacenter, spec.User, spec.Name)
	}
	switch {
	case !errors.Is(err, pfs.Exist):
		return err
	case u.record == "":
		return s.inUse(ctx, r)
	}
	return nil
}

// start calls the engine. When its answer is lost, start finds out whether the job exists.
func (s *Submission) start(ctx context.Context, u *undo) error {
	err := s.Engine.Submit(ctx, s.Spec)
	if err == nil {
		return nil
	}
	if k := pfs.KindOf(err); !k.Temporary() && k != pfs.Canceled && k != pfs.Exist && k != pfs.Unauthenticated {
		return err
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	r, askErr := s.Engine.Job(after, s.Spec.User, s.Spec.Name)
	switch {
	case askErr == nil && r.Spec.ID == s.Spec.ID:
		return nil
	case askErr == nil:
		return inUse(r)
	case errors.Is(askErr, pfs.NotExist):
		return err
	}
	*u = undo{fsys: s.FS} // the job may run
	return &LeftError{Name: s.Spec.Name, Cause: err}
}

// undo is what a submit has created.
type undo struct {
	fsys   pfs.FileSystem
	tree   pfs.Path   // the package
	record pfs.Path   // removed after the package, so that nobody else begins to upload
	dirs   []pfs.Path // removed in this order where they are empty
}

// undoTime is how long a failed Submit tries to remove everything that it has created.
const undoTime = 30 * time.Second

// run takes everything back and returns the error of a submit that failed with cause.
func (u *undo) run(ctx context.Context, spec *job.Spec, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	var err error
	if u.tree != "" {
		err = pfs.RemoveTree(ctx, u.fsys, u.tree)
	}
	if u.record != "" && (err == nil || errors.Is(err, pfs.NotExist)) {
		err = u.fsys.Remove(ctx, u.record)
	}
	if err != nil && !errors.Is(err, pfs.NotExist) {
		return &LeftError{Name: spec.Name, Cause: cause, Left: job.Dir(spec.Datacenter, spec.User, spec.Name)}
	}
	for _, dir := range u.dirs {
		if err := u.fsys.Remove(ctx, dir); err != nil && !errors.Is(err, pfs.NotExist) {
			break // somebody else uses it, or it stays empty
		}
	}
	return cause
}

// LeftError is the error of a submit that could not remove everything that it had created.
type LeftError struct {
	Name  string
	Cause error
	Left  pfs.Path // the job's directory; empty if the engine may have started the job
}

func (e *LeftError) Error() string {
	if e.Left == "" {
		return fmt.Sprintf("%v; it is not known whether job %q was started", e.Cause, e.Name)
	}
	return fmt.Sprintf("%v; what was created in %s could not be removed again", e.Cause, e.Left)
}

// Unwrap returns the cause.
func (e *LeftError) Unwrap() error { return e.Cause }
