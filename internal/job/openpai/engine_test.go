package openpai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/jobtest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// world is an engine over a double of OpenPAI, and a store.
type world struct {
	t      *testing.T
	pai    *jobtest.OpenPAI
	e      *Engine
	fs     *memfs.FS
	mu     sync.Mutex
	open   map[string]bool // sessions
	commit error           // of Commit
}

// newWorld returns a world with that version of the API.
func newWorld(t *testing.T, api string, options ...string) *world {
	t.Helper()
	t.Parallel()
	w := &world{t: t, fs: memfs.New(memfs.Options{}), open: map[string]bool{}, pai: &jobtest.OpenPAI{API: api, User: "svc", Password: "right", Token: "app", Clusters: []string{"default", "vc1"}}}
	server := w.pai.Start()
	t.Cleanup(server.Close)
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("right\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"address": server.URL, "user": "svc", "password-file": password, "service": "https://pfs.example.org", "code-uri": "$PAI_DEFAULT_FS_URI/pfs"}
	for i := 0; i < len(options); i += 2 {
		if all[options[i]] = options[i+1]; options[i+1] == "" {
			delete(all, options[i])
		}
	}
	w.e = w.engine(all)
	return w
}

// engine returns another engine for the same store.
func (w *world) engine(options map[string]string) *Engine {
	w.t.Helper()
	config, err := Parse(options)
	if err != nil {
		w.t.Fatal(err)
	}
	e, err := New(Options{
		Config: config, Datacenter: "dc", Log: slog.New(slog.NewTextHandler(w.t.Output(), nil)),
		Store: func(string) (pfs.FileSystem, error) { return w.fs, nil },
		Login: func(user string) (string, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			session := fmt.Sprintf("session-%d-of-%s", len(w.open), user)
			w.open[session] = true
			return session, nil
		},
		Logout: func(_ context.Context, session string) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.open[session] = false
			return nil
		},
		Commit: func(context.Context, pfs.FileSystem, *job.Spec, int, []string) error { return w.commit },
		Abandon: func(_ context.Context, _ pfs.FileSystem, _ *job.Spec, worker *job.Worker, reason string) error {
			worker.Outputs = "_INCOMPLETE"
			return nil
		},
		Exit: func(_ context.Context, _ pfs.FileSystem, _ *job.Spec, worker *job.Worker) (*job.Exit, error) {
			if worker.State == job.Failed && worker.Index == 1 {
				return &job.Exit{Code: 3, Reason: "killed for lack of memory"}, nil
			}
			return nil, nil
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	e.c.patience = 200 * time.Millisecond
	return e
}

// sessions returns the number of sessions that are open.
func (w *world) sessions() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, open := range w.open {
		if open {
			n++
		}
	}
	return n
}

func specOf(name string) *job.Spec {
	return &job.Spec{
		ID: pfs.NewID(), Name: name, User: "ann@example.org", Datacenter: "dc", Package: "/pfs/dc/home/ann@example.org/jobs/" + pfs.Path(name) + "/package", Entry: "python3 train.py",
		Passes: 1, Image: "hub/train:1", Roles: []job.Role{{Name: job.Trainer, Replicas: 2, CPU: 1500, GPU: 1, Memory: 3 << 30}, {Name: job.Pserver, Replicas: 1, CPU: 1000, Memory: 1 << 30}},
		MaxAttempts: 1, Restart: job.RestartJob, UploadWait: time.Minute,
	}
}

// submit submits a job, as package submit does: the record exists before.
func (w *world) submit(spec *job.Spec) error {
	w.t.Helper()
	if err := job.CreateRecord(w.t.Context(), w.fs, &job.Record{Spec: *spec, Engine: Name, State: job.Submitting, Submitted: time.Now()}); err != nil {
		w.t.Fatal(err)
	}
	return w.e.Submit(w.t.Context(), spec)
}

// want checks the state of a job at the engine, and in the store after a pass.
func (w *world) want(spec *job.Spec, state job.State, reason string) *job.Record {
	w.t.Helper()
	if err := w.e.pass(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	r, err := w.e.Job(w.t.Context(), spec.User, spec.Name)
	if err != nil {
		w.t.Fatal(err)
	}
	stored, err := job.ReadRecord(w.t.Context(), w.fs, "dc", spec.User, spec.Name)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range []*job.Record{r, stored} {
		if r.State != state || !strings.Contains(r.Reason, reason) || r.Engine != Name {
			w.t.Errorf("%s, %q, engine %q; want %s, %q", r.State, r.Reason, r.Engine, state, reason)
		}
	}
	return r
}

// last returns the name in OpenPAI of the latest attempt.
func (w *world) last() string {
	all := w.pai.Created()
	return all[len(all)-1]
}

// both runs a test with both versions of the API.
func both(t *testing.T, do func(t *testing.T, api string)) {
	for _, api := range []string{V1, V2} {
		t.Run(api, func(t *testing.T) { do(t, api) })
	}
}

func TestSucceeded(t *testing.T) {
	both(t, func(t *testing.T, api string) {
		w := newWorld(t, api)
		spec := specOf("train.1")
		if err := w.submit(spec); err != nil {
			t.Fatal(err)
		}
		name := w.last()
		if !strings.HasPrefix(name, "train_2e1__ann_40example_2eorg_") {
			t.Errorf("the name in OpenPAI: %s", name)
		}
		config := w.pai.Config(name)
		if strings.Contains(config, "session-") || !strings.Contains(config, spec.ID) {
			t.Errorf("what everybody can read in OpenPAI: %s", config)
		}
		w.want(spec, job.Pending, "waiting")
		w.pai.Set(name, "RUNNING", 0)
		if list, err := w.e.Jobs(t.Context(), spec.User); err != nil || len(list) != 1 || list[0].State != job.Running {
			t.Errorf("before the next pass: %+v, %v", list, err)
		}
		if r := w.want(spec, job.Running, ""); len(r.Workers) != 3 || r.Workers[1].State != job.Running || r.Started.IsZero() {
			t.Errorf("%+v", r)
		}
		list, err := w.e.Jobs(t.Context(), spec.User)
		if err != nil || len(list) != 1 || list[0].State != job.Running {
			t.Errorf("%+v, %v", list, err)
		}
		if err := w.e.Delete(t.Context(), spec.User, spec.Name); !errors.Is(err, pfs.Conflict) {
			t.Errorf("delete of a running job: %v", err)
		}
		w.pai.Set(name, "SUCCEEDED", 0)
		r := w.want(spec, job.Succeeded, "")
		if r.Ended.IsZero() || w.sessions() != 0 {
			t.Errorf("%+v, %d sessions", r, w.sessions())
		}
		if ok, _ := pfs.Exists(t.Context(), w.fs, filesDir(spec)); ok {
			t.Error("the files for OpenPAI are left")
		}
		if err := w.e.Delete(t.Context(), spec.User, spec.Name); err != nil {
			t.Error(err)
		}
	})
}

// A failed attempt is followed by the next one. The reason is the one that the store has.
func TestAttempts(t *testing.T) {
	both(t, func(t *testing.T, api string) {
		w := newWorld(t, api)
		spec := specOf("fit")
		spec.MaxAttempts = 2
		if err := w.submit(spec); err != nil {
			t.Fatal(err)
		}
		first := w.last()
		w.pai.Set(first, "FAILED", 137)
		if r := w.want(spec, job.Pending, "attempt 2 of 2"); r.Attempt != 2 {
			t.Errorf("%+v", r)
		}
		second := w.last()
		if first == second || w.sessions() != 1 {
			t.Errorf("%s, %s, %d sessions", first, second, w.sessions())
		}
		w.want(spec, job.Pending, "attempt 2 of 2")
		w.pai.Set(second, "FAILED", 1)
		r := w.want(spec, job.Failed, "trainer-0: exit code 1")
		if len(w.pai.Created()) != 2 || r.Workers[1].Reason != "killed for lack of memory" || r.Workers[1].Outputs != "_INCOMPLETE" || w.sessions() != 0 {
			t.Errorf("%+v, %d sessions", r, w.sessions())
		}
	})
}

// A store that is away decides nothing.
func TestStoreAway(t *testing.T) {
	w := newWorld(t, V2)
	spec := specOf("fit")
	if err := w.submit(spec); err != nil {
		t.Fatal(err)
	}
	w.pai.Set(w.last(), "SUCCEEDED", 0)
	w.commit = pfs.Errorf("test", "", pfs.Unavailable, "the store is away")
	for range 2 {
		if err := w.e.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r, err := w.e.Job(t.Context(), spec.User, spec.Name); err != nil || r.State != job.Uploading {
			t.Errorf("%+v, %v", r, err)
		}
	}
	w.commit = nil
	w.want(spec, job.Succeeded, "")
}

// Programs that succeed without all their outputs have failed.
func TestNoOutputs(t *testing.T) {
	w := newWorld(t, V2)
	spec := specOf("fit")
	if err := w.submit(spec); err != nil {
		t.Fatal(err)
	}
	w.pai.Set(w.last(), "SUCCEEDED", 0)
	w.commit = pfs.Errorf("test", "", pfs.NotExist, "trainer-1 has no marker")
	w.want(spec, job.Failed, "trainer-1 has no marker")
}

func TestKill(t *testing.T) {
	both(t, func(t *testing.T, api string) {
		w := newWorld(t, api)
		spec := specOf("fit")
		spec.MaxAttempts = 3
		if err := w.submit(spec); err != nil {
			t.Fatal(err)
		}
		w.pai.Set(w.last(), "RUNNING", 0)
		var states []job.State
		if err := w.e.Kill(t.Context(), spec.User, spec.Name, func(r *job.Record) { states = append(states, r.State) }); err != nil {
			t.Fatal(err)
		}
		if len(states) < 2 || states[0] != job.Killing || states[len(states)-1] != job.Killed || w.sessions() != 0 {
			t.Errorf("%v, %d sessions", states, w.sessions())
		}
		w.want(spec, job.Killed, "")
	})
}

// A kill whose caller has gone, and whose replica of pfsd too, is completed by another.
func TestKillContinued(t *testing.T) {
	w := newWorld(t, V1)
	spec := specOf("fit")
	if err := w.submit(spec); err != nil {
		t.Fatal(err)
	}
	w.pai.Set(w.last(), "RUNNING", 0)
	ctx, cancel := context.WithCancel(t.Context())
	err := w.e.Kill(ctx, spec.User, spec.Name, func(*job.Record) { cancel() })
	if !errors.Is(err, pfs.Canceled) {
		t.Errorf("the kill: %v", err)
	}
	w.want(spec, job.Killed, "")
}

// OpenPAI on YARN says of a job that was stopped that it has succeeded.
func TestKillSucceeded(t *testing.T) {
	w := newWorld(t, V1)
	spec := specOf("fit")
	if err := w.submit(spec); err != nil {
		t.Fatal(err)
	}
	w.pai.Set(w.last(), "RUNNING", 0)
	ctx, cancel := context.WithCancel(t.Context())
	err := w.e.Kill(ctx, spec.User, spec.Name, func(*job.Record) { cancel() })
	if !errors.Is(err, pfs.Canceled) {
		t.Errorf("the kill: %v", err)
	}
	w.pai.Set(w.last(), "SUCCEEDED", 0)
	w.want(spec, job.Killed, "")
}

// Somebody stops a job in OpenPAI, or removes it there.
func TestStoppedThere(t *testing.T) {
	w := newWorld(t, V2)
	spec, other := specOf("fit"), specOf("other")
	for _, s := range []*job.Spec{spec, other} {
		if err := w.submit(s); err != nil {
			t.Fatal(err)
		}
	}
	w.pai.Set(nameOf(spec, 1), "STOPPED", -210)
	w.want(spec, job.Killed, "somebody stopped it in OpenPAI")
	w.pai.Remove(nameOf(other, 1))
	r, err := w.e.Job(t.Context(), other.User, other.Name)
	if err != nil || !strings.Contains(r.Reason, "somebody removed it") {
		t.Errorf("%+v, %v", r, err)
	}
	if err := w.e.Kill(t.Context(), other.User, other.Name, func(*job.Record) {}); err != nil {
		t.Error(err)
	}
	w.want(other, job.Failed, "somebody removed it")
}

// A request whose answer was lost is recognized, and so is a submission that its service did not finish.
func TestRepeated(t *testing.T) {
	both(t, func(t *testing.T, api string) {
		w := newWorld(t, api)
		spec := specOf("fit")
		lost := 0
		w.pai.Lose = func(r *http.Request) bool {
			lose := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/jobs") && lost == 0
			if lose {
				lost++
			}
			return lose
		}
		if err := w.submit(spec); err != nil || lost != 1 {
			t.Fatal(err, lost)
		}
		if err := w.e.Submit(t.Context(), spec); err != nil {
			t.Error("the same request again: ", err)
		}
		if len(w.pai.Created()) != 1 || w.sessions() != 1 {
			t.Errorf("%v, %d sessions", w.pai.Created(), w.sessions())
		}
		again := specOf("fit")
		if err := w.e.Submit(t.Context(), again); !errors.Is(err, pfs.Exist) || !strings.Contains(err.Error(), "kill -rm fit") {
			t.Errorf("another job of the name: %v", err)
		}
		// As if the service had ended before it wrote the record.
		if err := job.WriteRecord(t.Context(), w.fs, &job.Record{Spec: *spec, State: job.Submitting, Submitted: time.Now().Add(-2 * submitTime)}); err != nil {
			t.Fatal(err)
		}
		if r, err := w.e.Job(t.Context(), spec.User, spec.Name); err != nil || r.State != job.Pending {
			t.Errorf("%+v, %v", r, err)
		}
		w.pai.Set(w.last(), "RUNNING", 0)
		w.want(spec, job.Running, "")
	})
}

// OpenPAI goes away in the middle of a submission: the job is there, or is not, or nobody knows and its session stays valid.
func TestLost(t *testing.T) {
	for _, tt := range []struct {
		name     string
		lose     func(r *http.Request) bool // the answer
		refuse   func(r *http.Request) bool // the request
		err      pfs.Kind
		sessions int
	}{
		{"there", func(r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/config") || r.Method == http.MethodPost
		}, nil, 0, 1},
		{"not there", nil, func(r *http.Request) bool { return r.Method == http.MethodPost }, pfs.Unavailable, 0},
		{"not known", nil, func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/jobs") }, pfs.Unavailable, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, V2)
			if err := w.e.pass(t.Context()); err != nil { // logs in
				t.Fatal(err)
			}
			w.pai.Lose = tt.lose
			if tt.refuse != nil {
				w.pai.Refuse = func(out http.ResponseWriter, r *http.Request) bool {
					if tt.refuse(r) {
						out.WriteHeader(http.StatusBadGateway)
					}
					return tt.refuse(r)
				}
			}
			spec := specOf("fit")
			if err := w.submit(spec); pfs.KindOf(err) != tt.err && (err != nil || tt.err != 0) || w.sessions() != tt.sessions {
				t.Errorf("%v, %d sessions", err, w.sessions())
			}
		})
	}
}

// The job of version 1 has a codeDir with the session and pfs-agent, and that of version 2 has secrets.
func TestObjects(t *testing.T) {
	agent := filepath.Join(t.TempDir(), "pfs-agent")
	if err := os.WriteFile(agent, []byte("the program"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Run("v1", func(t *testing.T) {
		w := newWorld(t, V1, "agent-file", agent)
		spec := specOf("fit")
		spec.Queue = "vc1"
		if err := w.submit(spec); err != nil {
			t.Fatal(err)
		}
		var j job1
		if err := json.Unmarshal([]byte(w.pai.Config(w.last())), &j); err != nil {
			t.Fatal(err)
		}
		const command = "chmod +x openpai/pfs-agent && exec ./openpai/pfs-agent task --service=https://pfs.example.org --job=/pfs/dc/home/ann@example.org/jobs/fit --attempt=1 --login=openpai/login --dir=pfs-job"
		if r := j.TaskRoles[0]; j.CodeDir != "$PAI_DEFAULT_FS_URI/pfs/home/ann@example.org/jobs/fit/openpai" || j.VirtualCluster != "vc1" || r.Command != command || r.CPUNumber != 2 || r.MemoryMB != 3072 ||
			r.GPUNumber != 1 || *r.MinSucceeded != 2 || j.TaskRoles[1].MinSucceeded != nil {
			t.Errorf("%+v", j)
		}
		for name, mode := range map[string]os.FileMode{"login": 0o600, "pfs-agent": 0o755} {
			info, err := w.fs.Stat(t.Context(), filesDir(spec).Join(name))
			if err != nil || info.Mode.Perm() != mode || info.Size == 0 {
				t.Errorf("%s: %+v, %v", name, info, err)
			}
		}
	})
	t.Run("v2", func(t *testing.T) {
		w := newWorld(t, V2, "agent", "/mnt/tools/pfs-agent", "storages", "tools data", "fingerprint", "ab12")
		spec := specOf("fit")
		spec.Image = ""
		w.e.Config.Image = "hub/default"
		plan, err := w.e.Plan(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		text := string(plan[0])
		for _, want := range []string{`"uri":"hub/default"`, `"storages":[{"name":"tools"},{"name":"data"}]`, `"login":"******"`, `printf %s '\u003c% $secrets.login %\u003e'`,
			"--fingerprint=ab12 --job=/pfs/dc/home/ann@example.org/jobs/fit --attempt=1", `"minSucceededInstances":2`, `"virtualCluster":"default"`, `"memoryMB":3072,"gpu":1`} {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in %s", want, text)
			}
		}
		if len(w.pai.Created()) != 0 || w.sessions() != 0 {
			t.Error("a plan created something")
		}
	})
}

// What cannot be run is refused before anything is created.
func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		name, says string
		change     func(*job.Spec)
	}{
		{"no image", "an image is needed", func(s *job.Spec) { s.Image = "" }},
		{"an engine", `no engine "volcano"`, func(s *job.Spec) { s.Engine = "volcano" }},
		{"a tool", "--engine local", func(s *job.Spec) { s.Tool = "convert" }},
		{"a registry", "without -registry", func(s *job.Spec) { s.Registry = "hub" }},
		{"a claim", "leave out --claim", func(s *job.Spec) { s.Claims = []job.Claim{{}} }},
		{"a rank", "--restart job", func(s *job.Spec) { s.Restart = job.RestartRank }},
		{"a scheduler", "--queue names the virtual cluster", func(s *job.Spec) { s.Scheduler = "volcano" }},
		{"a cluster", `no virtual cluster "gpus"; it has default, vc1`, func(s *job.Spec) { s.Queue = "gpus" }},
		{"a port", `leave out the number 8080 of the port "web" of trainer`, func(s *job.Spec) {
			s.Roles[0].Ports = []job.Port{{Label: "tb", Count: 1}, {Label: "web", First: 8080, Count: 1}}
		}},
		{"a name", "too long for OpenPAI", func(s *job.Spec) { s.User = strings.Repeat("ü", 60) }},
		{"a quote", "cannot be in a command", func(s *job.Spec) { s.User = "o'hara" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, V2)
			spec := specOf("fit")
			tt.change(spec)
			for range 2 {
				err := w.e.Submit(t.Context(), spec)
				if pfs.KindOf(err) != pfs.Invalid || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%v; want %q", err, tt.says)
				}
				_, err = w.e.Plan(t.Context(), spec)
				if pfs.KindOf(err) != pfs.Invalid || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("plan: %v; want %q", err, tt.says)
				}
			}
			if len(w.pai.Created()) != 0 || w.sessions() != 0 {
				t.Error("something was created")
			}
		})
	}
}

// A job that OpenPAI refuses leaves no session and no file.
func TestRefusedThere(t *testing.T) {
	both(t, func(t *testing.T, api string) {
		w := newWorld(t, api)
		for i, tt := range []struct {
			status           int
			code, text, says string
			kind             pfs.Kind
		}{
			{400, "InvalidParametersError", "child \"image\" fails", "child \"image\" fails (InvalidParametersError, HTTP 400)", pfs.Invalid},
			{400, "InvalidProtocolError", "Prerequisite x does not exist.", "Prerequisite x", pfs.Invalid},
			{400, "NoVirtualClusterError", "Virtual cluster default is not found.", "is not found", pfs.Invalid},
			{403, "ForbiddenUserError", "User svc is not allowed to do operation in default", "not allowed", pfs.Permission},
			{409, "ConflictJobError", "Job name exists", "exists", pfs.NotExist}, // its configuration is not there
			{429, "TooManyRequests", "slow", "60 submits an hour", pfs.Limit},
			{500, "UnknownError", "YARN is away", "YARN is away (UnknownError, HTTP 500)", pfs.Unavailable},
		} {
			spec := specOf(fmt.Sprint("fit", i))
			w.pai.Refuse = func(out http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/jobs") {
					return false
				}
				jobtest.Fail(out, tt.status, tt.code, tt.text)
				return true
			}
			err := w.submit(spec)
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.says) || w.sessions() != 0 {
				t.Errorf("%s: %v, Kind %v, %d sessions", tt.code, err, pfs.KindOf(err), w.sessions())
			}
			if ok, _ := pfs.Exists(t.Context(), w.fs, filesDir(spec)); ok {
				t.Errorf("%s: files are left", tt.code)
			}
		}
	})
}

// A server that cannot be used is an error that names the cause and the way out, and nothing is created.
func TestServers(t *testing.T) {
	for _, tt := range []struct {
		name, api string
		options   []string
		refuse    func(http.ResponseWriter, *http.Request) bool
		kind      pfs.Kind
		says      string
	}{
		{"another version", V2, []string{"api", V1}, nil, pfs.Permission, "see to the option api"},
		{"version 1 without code-uri", V1, []string{"code-uri", ""}, nil, pfs.Invalid, "code-uri is missing"},
		{"a wrong user", V1, []string{"user", "nobody"}, nil, pfs.Permission, `refuses the login of "nobody"`},
		{"away", V2, []string{"address", "http://127.0.0.1:1"}, nil, pfs.Unavailable, "connection refused"},
		{"a revoked token", V2, []string{"password-file", "", "token-file", "TOKEN"}, nil, pfs.Permission, "put a new application token of svc there"},
		{"a login page", V2, nil, page(200), pfs.Unsupported, "text/html, which is not OpenPAI's"},
		{"a wrong address", V1, nil, page(404), pfs.Unsupported, "see to the option address"},
		{"a proxy without its server", V1, nil, page(502), pfs.Unavailable, "HTTP 502"},
		{"nothing", V1, nil, func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(200); return true }, pfs.Unsupported, "0 bytes of no type"},
		{"half an answer", V2, nil, func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"version":`))
			return true
		}, pfs.Unavailable, "EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i, v := range tt.options {
				if v == "TOKEN" {
					tt.options[i] = filepath.Join(t.TempDir(), "token")
					if err := os.WriteFile(tt.options[i], []byte("revoked"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			w := newWorld(t, tt.api, tt.options...)
			w.pai.Refuse = tt.refuse
			_, err := w.e.Plan(t.Context(), specOf("fit"))
			if pfs.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "right") {
				t.Errorf("%v, Kind %v; want %q", err, pfs.KindOf(err), tt.says)
			}
		})
	}
}

// page answers everything with a page, as a proxy does.
func page(status int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write([]byte("<html><body>nginx</body></html>"))
		return true
	}
}

// A login that has expired is made anew; a wrong password is not tried again and again; a new application token is read.
func TestLogin(t *testing.T) {
	both(t, func(t *testing.T, api string) {
		w := newWorld(t, api)
		spec := specOf("fit")
		if err := w.submit(spec); err != nil {
			t.Fatal(err)
		}
		w.pai.Expire()
		w.want(spec, job.Pending, "")
		if err := os.WriteFile(w.e.Config.PasswordFile, []byte("wrong"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.pai.Expire()
		err := w.e.pass(t.Context())
		if !errors.Is(err, pfs.Permission) || !strings.Contains(err.Error(), "Password is incorrect. (IncorrectPassworkError, HTTP 400)") || !strings.Contains(err.Error(), w.e.Config.PasswordFile) {
			t.Errorf("a wrong password: %v", err)
		}
		if err := os.WriteFile(w.e.Config.PasswordFile, []byte("right"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.want(spec, job.Pending, "")
	})
}

// A login that is not answered holds nobody longer than they wait, and one answer is for all.
func TestLoginStuck(t *testing.T) {
	w := newWorld(t, V2)
	w.e.c.patience = time.Minute
	var logins atomic.Int32
	begun, release := make(chan struct{}), make(chan struct{})
	w.pai.Refuse = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/login") && logins.Add(1) == 1 {
			close(begun)
			<-release
		}
		return false
	}
	all := make(chan error)
	for range 5 {
		go func() { all <- w.e.pass(t.Context()) }()
	}
	<-begun
	impatient, giveUp := context.WithCancel(t.Context())
	giveUp()
	if _, err := w.e.c.credential(impatient, ""); pfs.KindOf(err) != pfs.Canceled {
		t.Errorf("somebody who does not wait: %v", err)
	}
	close(release)
	for range 5 {
		if err := <-all; err != nil {
			t.Error(err)
		}
	}
	if n := logins.Load(); n != 1 {
		t.Errorf("%d logins", n)
	}
}

func TestApplicationToken(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, V2, "password-file", "", "token-file", token)
	if err := w.e.pass(t.Context()); !errors.Is(err, pfs.Permission) {
		t.Errorf("a revoked token: %v", err)
	}
	if err := os.WriteFile(token, []byte("app\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.e.pass(t.Context()); err != nil {
		t.Error(err)
	}
}

// Logs are those of the store, and of a task without any those of OpenPAI.
func TestLogs(t *testing.T) {
	both(t, func(t *testing.T, api string) {
		w := newWorld(t, api)
		spec := specOf("fit")
		spec.Roles = spec.Roles[:1]
		if err := w.submit(spec); err != nil {
			t.Fatal(err)
		}
		w.pai.Set(w.last(), "RUNNING", 0)
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		var text []byte
		for i := range 3 {
			text = job.LogLine{Time: at, Stream: job.Stdout, Text: fmt.Append(nil, "line ", i)}.Append(text)
		}
		dir := job.LogDir(spec, 1, "trainer-0")
		if err := pfs.MkdirAll(t.Context(), w.fs, dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := put(t.Context(), w.fs, dir.Join(job.LogName(1)), bytes.NewReader(text), int64(len(text)), 0o644); err != nil {
			t.Fatal(err)
		}
		logs := func(opts job.LogOptions) string {
			t.Helper()
			var b strings.Builder
			if err := w.e.Logs(t.Context(), spec.User, spec.Name, opts, &b); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		const head = "trainer-0 2026-01-02T03:04:05.000000000Z stdout F "
		if got := logs(job.LogOptions{Lines: 2, Worker: "trainer-0"}); got != head+"line 1\n"+head+"line 2\n" {
			t.Errorf("%q", got)
		}
		got := logs(job.LogOptions{Lines: -1, Worker: "trainer-1"})
		if api == V1 && !strings.Contains(got, "OpenPAI has one at http://10.0.0.1:8042/node/containerlogs/") {
			t.Errorf("a task without a log: %q", got)
		}
		// What comes while the log is followed is printed once.
		l := &following{engine: w.e, fs: w.fs, opts: job.LogOptions{Lines: 1, Follow: true, Worker: "trainer-0"}, w: new(strings.Builder), read: map[string]*readLog{}}
		r, err := w.e.Job(t.Context(), spec.User, spec.Name)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := l.pass(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		text = job.LogLine{Time: at, Stream: job.Stdout, Text: []byte("more")}.Append(text)
		if err := put(t.Context(), w.fs, dir.Join(job.LogName(1)), bytes.NewReader(text), int64(len(text)), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := l.pass(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if got := l.w.(*strings.Builder).String(); got != head+"line 2\n"+head+"more\n" {
			t.Errorf("followed: %q", got)
		}
	})
}

func TestNames(t *testing.T) {
	for _, user := range []string{"ann", "a_b", "x@y.org", "é", "a__b"} {
		spec := &job.Spec{ID: "1", Name: "A-b.1", User: user, Datacenter: "dc"}
		name := nameOf(spec, 1)
		if got, of, ok := parseName(name); !ok || got != user || of != spec.Name || name == nameOf(spec, 2) {
			t.Errorf("%s: %q, %q, %v", name, got, of, ok)
		}
	}
	for _, name := range []string{"", "train_couplet_demo", "a__", "a__b", "a__b_12345678_", "__b_12345678", "a_zz__b_12345678", "a__b_2_12345678", "a__.._12345678"} {
		if user, of, ok := parseName(name); ok && (user != "b" || of != "a") {
			t.Errorf("%q: %q, %q", name, user, of)
		}
	}
}

func TestParse(t *testing.T) {
	good := map[string]string{"address": "http://pai/rest-server/api/", "user": "svc", "token-file": "t", "service": "https://pfs"}
	if c, err := Parse(good); err != nil || c.Address != "http://pai/rest-server" {
		t.Errorf("%+v, %v", c, err)
	}
	for _, tt := range [][3]string{
		{"address", "pai:9186", "address:"}, {"service", "", "service:"}, {"api", "v3", "api:"}, {"user", "", "user is missing"}, {"password-file", "p", "either password-file or token-file"},
		{"api", "v1", "code-uri is missing"}, {"agent", "a b", "words of a command"}, {"quota", "1", `no option "quota"`}, {"agent", "", "agent"},
	} {
		options := map[string]string{tt[0]: tt[1]}
		for k, v := range good {
			if k != tt[0] {
				options[k] = v
			}
		}
		if _, err := Parse(options); pfs.KindOf(err) != pfs.Invalid || !strings.Contains(err.Error(), tt[2]) {
			t.Errorf("%s %q: %v", tt[0], tt[1], err)
		}
	}
}

// The session of a job that has ended ends, also if that fails at first.
func TestSessionEnds(t *testing.T) {
	w := newWorld(t, V2)
	logout, failures := w.e.Logout, 0
	w.e.Logout = func(ctx context.Context, session string) error {
		if failures++; failures < 4 {
			return pfs.Errorf("test.Logout", "", pfs.Unavailable, "the disk is full")
		}
		return logout(ctx, session)
	}
	spec := specOf("fit")
	if err := w.submit(spec); err != nil {
		t.Fatal(err)
	}
	w.pai.Set(w.last(), "SUCCEEDED", 0)
	for range 6 {
		w.want(spec, job.Succeeded, "")
	}
	if w.sessions() != 0 {
		t.Errorf("%d sessions after %d attempts to end them", w.sessions(), failures)
	}
}

// The record of a job is a file that its user can change. The engine carries out none that it would not have accepted.
func TestChangedRecord(t *testing.T) {
	w := newWorld(t, V2)
	spec := specOf("fit")
	if err := w.submit(spec); err != nil {
		t.Fatal(err)
	}
	w.pai.Set(w.last(), "RUNNING", 0)
	r := w.want(spec, job.Running, "")
	r.Spec.Roles[0].Replicas = 20_000 // or 1 << 40, which would end the service
	if err := job.WriteRecord(t.Context(), w.fs, r); err != nil {
		t.Fatal(err)
	}
	if _, err := w.e.Job(t.Context(), spec.User, spec.Name); !errors.Is(err, pfs.Integrity) {
		t.Errorf("Job: %v", err)
	}
	if list, err := w.e.Jobs(t.Context(), spec.User); err != nil || len(list) != 0 {
		t.Errorf("%d jobs, %v", len(list), err)
	}
	if err := w.e.pass(t.Context()); err != nil {
		t.Error(err)
	}
	if now, err := job.ReadRecord(t.Context(), w.fs, "dc", spec.User, spec.Name); err != nil || len(now.Workers) != 3 {
		t.Errorf("the record has %d workers, %v", len(now.Workers), err)
	}
	if err := w.e.Kill(t.Context(), spec.User, spec.Name, func(*job.Record) {}); !errors.Is(err, pfs.Integrity) {
		t.Errorf("Kill: %v", err)
	}
}
