package submit

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// engine is an Engine that records what it is asked to do.
type engine struct {
	job.Engine
	mu     sync.Mutex
	jobs   map[string]*job.Record
	plan   error
	refuse error // of Submit, before the job exists
	lost   error // of Submit, after the job exists
	ask    error // of Job
}

func (e *engine) Plan(context.Context, *job.Spec) ([]json.RawMessage, error) {
	return []json.RawMessage{json.RawMessage(`{"kind":"Job"}`)}, e.plan
}

func (e *engine) Submit(_ context.Context, s *job.Spec) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refuse != nil {
		return e.refuse
	}
	if e.jobs == nil {
		e.jobs = map[string]*job.Record{}
	}
	e.jobs[s.Name] = &job.Record{Spec: *s, State: job.Pending}
	return e.lost
}

func (e *engine) Job(_ context.Context, _, name string) (*job.Record, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ask != nil {
		return nil, e.ask
	}
	if r := e.jobs[name]; r != nil {
		return r, nil
	}
	return nil, pfs.NotExist
}

func (*engine) Logs(context.Context, string, string, job.LogOptions, io.Writer) error { return nil }

const home = pfs.Path("/pfs/dc1/home/alice")

// scene is a service with a home, and a local package.
type scene struct {
	Submission
	t   *testing.T
	dir string // the package
	eng *engine
}

func newScene(t *testing.T) *scene {
	fsys := memfs.New(memfs.Options{})
	if err := pfs.MkdirAll(context.Background(), fsys, home, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t, dir: filepath.Join(t.TempDir(), "pkg"), eng: &engine{}}
	write(t, s.dir, "train.py", "lib/a.py", "lib/b.py", ".git/HEAD")
	s.Submission = Submission{
		FS: fsys, Engine: s.eng, Kind: "fake", Package: at(t, s.dir),
		Spec: &job.Spec{
			ID: pfs.NewID(), Name: "j", User: "alice", Datacenter: "dc1", Entry: "python train.py", Passes: 1,
			Roles:       []job.Role{{Name: job.Trainer, Replicas: 1, CPU: 1000, Memory: 1 << 30}},
			MaxAttempts: 1, Restart: job.RestartJob,
		},
		Note: t.Logf,
	}
	return s
}

// tree returns the paths below dir on the service.
func (s *scene) tree(dir pfs.Path) (list []string) {
	err := pfs.Walk(context.Background(), s.FS, dir, func(name pfs.Path, _ pfs.Info, err error) error {
		if name != dir {
			list = append(list, strings.TrimPrefix(string(name), string(dir)+"/"))
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
	slices.Sort(list)
	return list
}

// nothing checks that the home is as it was.
func (s *scene) nothing() {
	s.t.Helper()
	if list := s.tree(home); len(list) > 0 {
		s.t.Error("left:", list)
	}
	if len(s.eng.jobs) > 0 {
		s.t.Error("a job was started")
	}
}

func (s *scene) want(list ...string) {
	s.t.Helper()
	if got := s.tree(home); !slices.Equal(got, list) {
		s.t.Errorf("%q, want %q", got, list)
	}
}

func TestSubmit(t *testing.T) {
	ctx := context.Background()
	s := newScene(t)
	if plan, err := s.Plan(ctx); err != nil || len(plan) != 1 {
		t.Fatal(plan, err)
	}
	s.nothing()
	if err := s.Submit(ctx); err != nil {
		t.Fatal(err)
	}
	s.want("jobs", "jobs/j", "jobs/j/job.json", "jobs/j/package", "jobs/j/package/lib", "jobs/j/package/lib/a.py", "jobs/j/package/lib/b.py", "jobs/j/package/train.py")
	if got := s.eng.jobs["j"].Spec.Package; got != home+"/jobs/j/package" {
		t.Error(got)
	}
	r, err := job.ReadRecord(ctx, s.FS, "dc1", "alice", "j")
	if err != nil || r.State != job.Submitting || r.Engine != "fake" {
		t.Error(r, err)
	}

	// The same package again, with a change, sends only that.
	if err := s.FS.Remove(ctx, home+"/jobs/j/job.json"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(s.dir, "lib/b.py")); err != nil {
		t.Fatal(err)
	}
	write(t, s.dir, "train.py=changed", "lib/b.py/new", ".paddleignore=*.log", "x.log")
	var stats func() transfer.Stats
	s.Watch = func(j *transfer.Job) func() { stats = j.Stats; return func() {} }
	if err := s.Submit(ctx); err != nil {
		t.Fatal(err)
	}
	s.want("jobs", "jobs/j", "jobs/j/job.json", "jobs/j/package", "jobs/j/package/.paddleignore", "jobs/j/package/lib", "jobs/j/package/lib/a.py",
		"jobs/j/package/lib/b.py", "jobs/j/package/lib/b.py/new", "jobs/j/package/train.py")
	if n := stats(); n.FilesDone != 3 || n.Skipped != 1 {
		t.Errorf("%+v", n)
	}
}

// TestSubmitPackages checks that a package that cannot be used is refused, by name, before anything is
// created.
func TestSubmitPackages(t *testing.T) {
	outside := t.TempDir()
	for what, c := range map[string]struct {
		make func(s *scene) error
		want string
		kind pfs.Kind
	}{
		"missing":       {func(s *scene) error { return os.RemoveAll(s.dir) }, "pkg", pfs.NotExist},
		"a file":        {func(s *scene) error { s.Package.Path += "/train.py"; return nil }, "train.py: invalid argument: a package is a directory", pfs.Invalid},
		"all left out":  {func(s *scene) error { write(s.t, s.dir, ".paddleignore=*"); return nil }, "leave out all", pfs.Invalid},
		"a bad pattern": {func(s *scene) error { write(s.t, s.dir, "lib/.gitignore=#\n[a"); return nil }, "lib/.gitignore: invalid argument: line 2: \"[a\"", pfs.Invalid},
		"no files": {func(s *scene) error {
			if err := os.RemoveAll(s.dir); err != nil {
				return err
			}
			return os.MkdirAll(s.dir+"/empty", 0o755)
		}, "the package has no files", pfs.Invalid},
		"a link out":      {func(s *scene) error { return os.Symlink(outside, s.dir+"/lib/out") }, "lib/out: invalid argument: the link leads out of the package", pfs.Invalid},
		"a dangling link": {func(s *scene) error { return os.Symlink("none", s.dir+"/gone") }, "/gone: no such file or directory: the link leads to \"none\"", pfs.NotExist},
		"a loop":          {func(s *scene) error { return os.Symlink("..", s.dir+"/lib/up") }, "lib/up: symbolic link not followed: the link leads to a directory that it is in", pfs.Symlink},
		"a FIFO":          {func(s *scene) error { return syscall.Mkfifo(s.dir+"/fifo", 0o644) }, "/fifo: invalid argument: neither a file nor", pfs.Invalid},
		"a name":          {func(s *scene) error { write(s.t, s.dir, "lib/a\xff"); return nil }, `"a\xff" cannot be a path`, pfs.Invalid},
		"10 GiB": {func(s *scene) error { write(s.t, s.dir, "lib/data"); return os.Truncate(s.dir+"/lib/data", 10<<30) },
			"the package has more than 8 GiB, 10737418240 bytes of it in lib/data: training data belongs into inputs", pfs.Limit},
		"a bad spec": {func(s *scene) error { s.Spec.Name = "a_b"; return nil }, `name "a_b"`, pfs.Invalid},
		"no remote package": {func(s *scene) error { s.Package.FS = nil; s.Spec.Package = home + "/none"; return nil },
			"/pfs/dc1/home/alice/none: no such file or directory: the package is not on the service", pfs.NotExist},
		"an empty remote package": {func(s *scene) error {
			s.Package.FS = nil
			s.Spec.Package = "/pfs/dc1/home"
			return s.FS.Remove(context.Background(), home)
		},
			"the package has no files", pfs.Invalid},
		"no input":   {func(s *scene) error { s.Spec.Inputs = []pfs.Path{home + "/data"}; return nil }, "the input is not on the service", pfs.NotExist},
		"a quota":    {func(s *scene) error { s.eng.plan = pfs.Errorf("x.y", "", pfs.Quota, "gpu"); return nil }, "quota exceeded: gpu", pfs.Quota},
		"the engine": {func(s *scene) error { s.eng.refuse = pfs.Errorf("x.y", "", pfs.Invalid, "image"); return nil }, "invalid argument: image", pfs.Invalid},
	} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t)
			if err := c.make(s); err != nil {
				t.Fatal(err)
			}
			err := s.Submit(context.Background())
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.kind) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if what != "an empty remote package" {
				s.nothing()
			}
		})
	}
}

// TestSubmitChanged checks that a package that changes during the upload is refused and taken back.
func TestSubmitChanged(t *testing.T) {
	for what, change := range map[string]func(s *scene){
		"content": func(s *scene) { write(s.t, s.dir, "lib/a.py=other and longer") },
		"new":     func(s *scene) { write(s.t, s.dir, "lib/a.pyc") },
		"gone":    func(s *scene) { _ = os.Remove(s.dir + "/lib/a.py") },
	} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t)
			s.Watch = func(*transfer.Job) func() { change(s); return func() {} }
			err := s.Submit(context.Background())
			if !errors.Is(err, pfs.Conflict) || !strings.Contains(err.Error(), "lib/a.py") {
				t.Error(err)
			}
			s.nothing()
		})
	}
}

func TestSubmitNameInUse(t *testing.T) {
	ctx := context.Background()
	for state, way := range map[job.State]string{
		job.Submitting: "if it was interrupted: delete j",
		job.Running:    "end that job: kill -rm j",
		job.Killing:    "or wait: kill -rm j",
		job.Failed:     "remove its record: delete j",
	} {
		s := newScene(t)
		other := *s.Spec
		other.ID = pfs.NewID()
		if err := job.CreateRecord(ctx, s.FS, &job.Record{Spec: other, State: state}); err != nil {
			t.Fatal(err)
		}
		before := s.tree(home)
		err := s.Submit(ctx)
		var named *NameError
		if !errors.As(err, &named) || !errors.Is(err, pfs.Exist) || !strings.Contains(named.WayOut, way) {
			t.Errorf("%s: %v %+v", state, err, named)
		}
		s.want(before...)
	}
	s := newScene(t)
	if err := pfs.MkdirAll(ctx, s.FS, home+"/jobs/j/attempts", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.Submit(ctx); !errors.Is(err, pfs.Exist) || !strings.Contains(err.Error(), "attempts is of an earlier job") {
		t.Error(err)
	}
}

func TestSubmitTwiceAtOnce(t *testing.T) {
	a, b := newScene(t), newScene(t)
	b.FS, b.Engine = a.FS, a.Engine
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i, s := range []*scene{a, b} {
		wg.Go(func() { errs[i] = s.Submit(context.Background()) })
	}
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), pfs.Exist) {
		t.Error(errs)
	}
	a.want("jobs", "jobs/j", "jobs/j/job.json", "jobs/j/package", "jobs/j/package/lib", "jobs/j/package/lib/a.py", "jobs/j/package/lib/b.py", "jobs/j/package/train.py")
}

// TestSubmitLostAnswer checks a submit whose answer from the engine is lost.
func TestSubmitLostAnswer(t *testing.T) {
	down := pfs.Errorf("x.y", "", pfs.Unavailable, "gone")

	s := newScene(t)
	s.eng.lost = down
	if err := s.Submit(context.Background()); err != nil {
		t.Error("the job was started:", err)
	}

	s = newScene(t)
	s.eng.refuse = down
	if err := s.Submit(context.Background()); !errors.Is(err, pfs.Unavailable) {
		t.Error(err)
	}
	s.nothing()

	s = newScene(t)
	s.eng.lost, s.eng.ask = down, down
	err := s.Submit(context.Background())
	var left *LeftError
	if !errors.As(err, &left) || !errors.Is(err, pfs.Unavailable) || !strings.Contains(err.Error(), "not known whether job \"j\" was started") {
		t.Error(err)
	}
	if _, err := job.ReadRecord(context.Background(), s.FS, "dc1", "alice", "j"); err != nil {
		t.Error("the record of a job that may run is gone:", err)
	}
}

// TestSubmitFaults lets every operation on the store fail in turn. Whatever was created is taken back, or
// the error names what is left.
func TestSubmitFaults(t *testing.T) {
	for what, fail := range map[string]func(at, n int, cancel func()) error{
		"interrupt": func(at, n int, cancel func()) error {
			if n == at {
				cancel()
			}
			return nil
		},
		"quota": func(at, n int, _ func()) error {
			if n == at {
				return pfs.Quota
			}
			return nil
		},
		"token expires": func(at, n int, _ func()) error {
			if n >= at {
				return pfs.Unauthenticated
			}
			return nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			step := 1
			if testing.Short() {
				step = 3
			}
			for at := 1; ; at += step {
				s := newScene(t)
				ctx, cancel := context.WithCancel(context.Background())
				var mu sync.Mutex
				n, below := 0, s.FS
				s.FS = pfs.NewLayer(func(_ context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
					mu.Lock()
					n++
					err := fail(at, n, cancel)
					mu.Unlock()
					if err != nil {
						return pfs.E("test.op", name, err.(pfs.Kind), nil)
					}
					return call(below, name)
				})
				s.Copy.Parallel = 1
				err := s.Submit(ctx)
				cancel()
				s.FS = below
				var left *LeftError
				switch {
				case err == nil && n < at:
					if at < 10 {
						t.Errorf("only %d operations were seen", at)
					}
					return
				case err == nil:
					s.eng.jobs = nil // the fault came after everything, or was repaired
				case errors.As(err, &left):
					if ok, err := pfs.Exists(context.Background(), s.FS, left.Left); !ok {
						t.Errorf("at %d: %s is named and does not exist: %v", at, left.Left, err)
					}
				case what == "token expires":
					if len(s.eng.jobs) > 0 {
						t.Errorf("at %d: a job was started: %v", at, err)
					}
					if list := s.tree(home); len(list) > 2 { // empty directories
						t.Errorf("at %d: %v; left: %q", at, err, list)
					}
				default:
					s.nothing()
					if t.Failed() {
						t.Fatalf("at %d: %v", at, err)
					}
				}
			}
		})
	}
}
