package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/jobhttp"
	"github.com/paddlecloud/pfs/internal/job/jobtest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/server"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// jobService is a service with an engine, and a package in the current directory.
type jobService struct {
	t        *testing.T
	fs       *memfs.FS
	engine   *jobtest.Engine
	endpoint string

	mu       sync.Mutex
	requests int
	refuse   func(n int, w http.ResponseWriter) bool // answers request n, from 1, if it returns true
}

func newJobService(t *testing.T) *jobService {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"pkg/train.py": "print()", "pkg/data": strings.Repeat("x", 300_000)} {
		if err := os.MkdirAll("pkg", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := &jobService{t: t, fs: newHome(t), engine: jobtest.New()}
	extensions := map[string]server.Extension{}
	for name, m := range jobhttp.Methods(jobhttp.Engines{"dc": {Name: "test", Engine: s.engine}}) {
		extensions[name] = server.Extension{Serve: m}
	}
	up := server.New(server.Config{
		Auth: anybody{}, View: func(auth.Identity, string) pfs.FileSystem { return s.fs }, Datacenters: []string{"dc"}, Current: "dc", Extensions: extensions,
	})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests++
		n, refuse := s.requests, s.refuse
		s.mu.Unlock()
		if refuse == nil || !refuse(n, w) {
			up.ServeHTTP(w, r)
		}
	}))
	s.endpoint = front.URL
	t.Cleanup(func() { front.Close(); up.Close() })
	return s
}

// set sets refuse, and counts requests from 1 again.
func (s *jobService) set(refuse func(n int, w http.ResponseWriter) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.refuse = 0, refuse
}

// run runs a command line, split at spaces.
func (s *jobService) run(line string) result {
	s.t.Helper()
	m := mainOf(s.t, s.endpoint, strings.Fields(line)...)
	m.Patience = 20 * time.Millisecond
	return run(s.t, m)
}

// want runs a command line and checks its code and parts of its output.
func (s *jobService) want(code cliio.Code, line string, parts ...string) {
	s.t.Helper()
	got := s.run(line)
	if got.code != code {
		s.t.Errorf("%s: code %d, want %d\n%s", line, got.code, code, got.stderr)
	}
	for _, part := range parts {
		if !strings.Contains(got.stdout+got.stderr, part) {
			s.t.Errorf("%s: no %q in\n%s%s", line, part, got.stdout, got.stderr)
		}
	}
}

func (s *jobService) jobsDir() bool {
	ok, err := pfs.Exists(context.Background(), s.fs, home+"/jobs")
	if err != nil {
		s.t.Error(err)
	}
	return ok
}

// TestJobsOfTheService runs the commands for jobs on an engine of the service.
func TestJobsOfTheService(t *testing.T) {
	s := newJobService(t)
	s.want(0, "submit --dry-run -jobname j -entry x pkg", "---\nkind: Job\n")
	s.want(1, "submit -jobname j -entry x -image none pkg", "quota exceeded: gpu: 2 of 2 are used", "hint: paddlectl get quota")
	if s.jobsDir() {
		t.Error("a refused submit has left something")
	}
	s.want(0, "submit -jobname j -parallelism 2 -entry x --json pkg", `{"name":"j","datacenter":"dc","engine":"test","package":"/pfs/dc/home/alice/jobs/j/package"}`)
	s.want(5, "submit -jobname j -entry x pkg", "the name is in use", "kill -rm j")
	s.want(0, "get jobs", "j      Running   2/2        1", "test")
	s.want(0, "get workers j", "trainer-1")
	s.want(0, "get quota", "RESOURCE   USED   LIMIT   FREE\ngpu        1      2       1\n")
	s.want(0, "get quota --legacy-table", "RESOURCE   LIMIT\n-----      -----\nGPU        2\n")
	s.engine.Log = func(w io.Writer) error {
		_, err := w.Write(job.AppendWorkerLine(nil, "trainer-0", job.LogLine{Time: time.Now(), Stream: job.Stdout, Text: []byte("a line")}))
		return err
	}
	s.want(0, "logs --rank 0 j", "a line\n")

	s.engine.Left = pfs.Errorf("test.Kill", "", pfs.Conflict, "trainer-1 still runs on node-3")
	s.want(5, "kill j", "j: trainer-0 is Killed", "trainer-1 still runs on node-3")
	s.engine.Left = nil
	s.want(0, "get jobs --watch j", "Killed")
	s.want(1, "wait j", "the job \"j\" is Killed")
	s.want(0, "kill -rm j", "j is already Killed")
	s.want(3, "describe j", "there is no job \"j\" in datacenter \"dc\"")

	s.want(2, "registry -name hub -server s -username u", "a password is needed")
	s.want(0, "registry -name hub -server s -username u -password secret")
	if s.engine.Password != "alice:secret" {
		t.Error(s.engine.Password)
	}
	m := mainOf(t, s.endpoint, "registry", "-name", "other", "-server", "s", "-username", "u", "--password-stdin")
	m.Stdin = strings.NewReader("from stdin\n")
	if got := run(t, m); got.code != 0 || s.engine.Password != "alice:from stdin" {
		t.Error(got, s.engine.Password)
	}
	s.want(0, "get registry", "NAME    SERVER   USERNAME   CREATED", "hub     s        u")
	s.want(2, "delete registry", "there are 2 registries")
	s.want(0, "delete registry other")
	s.want(0, "delete registry")
	s.want(3, "delete registry hub")
}

// TestJobsAsJSON: every command for jobs prints objects, one a line.
func TestJobsAsJSON(t *testing.T) {
	s := newJobService(t)
	s.engine.Log = func(w io.Writer) error {
		_, err := w.Write(job.AppendWorkerLine(nil, "trainer-0", job.LogLine{Time: time.Now(), Stream: job.Stdout, Text: []byte("a line")}))
		return err
	}
	for _, c := range [][2]string{
		{"submit -jobname j -parallelism 2 -entry x pkg", "name engine"},
		{"get jobs", "spec state"}, {"get jobs -a", "spec state"}, {"get workers j", "job name state"}, {"get quota", "resource used limit"}, {"describe j", "spec state"},
		{"logs j", "worker time stream text"},
		{"registry -name hub -server s -username u -password secret", "name"}, {"get registry", "name server username"}, {"delete registry hub", "name"},
		{"kill j", "spec state"}, {"delete j", "event name"},
	} {
		got := s.run(c[0] + " --json")
		if got.code != 0 || got.stdout == "" {
			t.Errorf("%s: code %d\n%s%s", c[0], got.code, got.stdout, got.stderr)
		}
		for line := range strings.Lines(got.stdout) {
			var object map[string]any
			err := json.Unmarshal([]byte(line), &object)
			for _, field := range strings.Fields(c[1]) {
				if _, ok := object[field]; !ok || err != nil {
					t.Errorf("%s: no %q in %s", c[0], field, line)
				}
			}
		}
	}
}

// TestWrongFlags: each wrong value of a flag is refused with its name, before anything is created.
func TestWrongFlags(t *testing.T) {
	s := newJobService(t)
	const many = 10_001
	for _, c := range [][2]string{
		{"-jobname a_b", `-jobname "a_b": '_' is not allowed`},
		{"-name -a", `-jobname "-a": a name begins and ends with`},
		{"-jobname a.", `-jobname "a.": a name begins and ends with`},
		{"-jobname " + strings.Repeat("a", 64), "64 characters, and at most 63 are allowed"},
		{"-cpu 0", `-cpu "0": more than 0 is needed`},
		{"-cpu -1", `-cpu: "-1" is not a number of processors`},
		{"-cpu 1e99", `-cpu: "1e99" is not a number of processors`},
		{"-cpu", "flag --cpu needs a value"},
		{"-gpu -1", `-gpu "-1": it cannot be negative`},
		{"-gpu 0.5", `-gpu: "0.5" is not a whole number`},
		{"-memory 1Zi", `-memory: "1Zi" is not an amount of memory`},
		{"-memory -1Gi", `-memory: "-1Gi" is not an amount of memory`},
		{"-memory 99999999999Ei", `-memory: "99999999999Ei" is not an amount of memory`},
		{"-memory 1024", `-memory "1Ki": at least 4Mi is needed`},
		{"-parallelism 0", `-parallelism "0": a number from 1 to 10000`},
		{fmt.Sprint("-parallelism ", many), `-parallelism "10001": a number from 1 to 10000`},
		{"-pservers -1", `-pservers: "-1": it cannot be negative`},
		{fmt.Sprint("-pservers ", many), `-pservers "10001": a number from 1 to 10000`},
		{"-pscpu 0", `-pscpu "0": more than 0 is needed`},
		{"-psmemory 1Ki", `-psmemory "1Ki": at least 4Mi is needed`},
		{"-psmemory all", `-psmemory: "all" is not an amount of memory`},
		{"-passes 0", `-passes "0": at least 1 is needed`},
		{"-topology /abs.py", `-topology "/abs.py": a file in the package is needed`},
		{"-topology ../a.py", `-topology "../a.py": a file in the package is needed`},
		{"-registry a_b", `-registry "a_b": '_' is not allowed`},
		{"--env A", `-env: "A" is not NAME=VALUE`},
		{"--env =1", "-env: it is not the name of a variable"},
		{"--env A-B=1", `-env "A-B": it is not the name of a variable`},
		{"--env PADDLE_TRAINER_ID=1", `-env "PADDLE_TRAINER_ID": the engine sets this variable`},
		{"--input data", `-input: "data" is not a path on the service`},
		{"--input /tmp", `-input "/tmp": a path on the service is needed`},
		{"--output checkpoints", `-output "checkpoints": the absolute path of a directory is needed`},
		{"--output /data/_SUCCESS", `-output "/data/_SUCCESS": outputs cannot have this name`},
		{"--output /a/c --output /b/c", `-output "/b/c": "/a/c" has the same last element`},
		{"--max-attempts 0", `-max-attempts "0": a number from 1 to 100`},
		{"--restart never", `-restart "never": it is "job" or "rank"`},
		{"--time-limit soon", `-time-limit: "soon" is no time`},
		{"--time-limit -1h", `-time-limit: "-1h" is no time`},
		{"--upload-wait 10", `-upload-wait: "10" is no time`},
		{"--claim data", `-claim: "data" is not NAME:DIR`},
		{"--claim data:dir", `-claim "dir": an absolute path is needed`},
		{"--claim NFS:/data", `-claim "NFS": it is not the name of a claim`},
		{"--node-selector disk", `-node-selector: "disk" is not KEY=VALUE`},
		{"--node-selector disk=_", `-node-selector "disk=_": it is not a label`},
		{"--format json", "--format is for --dry-run"},
		{"--dry-run --format xml", "xml: yaml or json is needed"},
		{"--no-such-flag", "unknown flag"},
	} {
		s.want(cliio.Usage, "submit -jobname j -entry x pkg "+c[0], c[1])
	}
	s.want(cliio.Usage, "submit -jobname j pkg", "-entry: a command is needed")
	s.want(cliio.Usage, "submit -jobname j -entry x pkg pkg", "pkg is not a job file")
	s.want(cliio.NotFound, "submit -jobname j -entry x --datacenter none pkg", `there is no datacenter "none"`)
	if s.jobsDir() || s.engine.Submitted > 0 {
		t.Error("a refused submit has left something")
	}
	s.want(0, "submit -jobname j -entry x pkg")
	for _, c := range [][2]string{
		{"logs -n x j", "--lines x: a number is needed"}, {"logs --since soon j", "since"}, {"logs --attempt x j", "attempt"}, {"wait --timeout soon j", "timeout"},
		{"get outputs --attempt x j", "attempt"}, {"logs", "NAME is needed"}, {"kill", "NAME... is needed"}, {"describe", "NAME... is needed"}, {"delete registry a b", ""}, {"get nothing", "nothing"},
	} {
		s.want(cliio.Usage, c[0], c[1])
	}
	s.want(cliio.NotFound, "logs --rank 7 j", `has no worker "trainer-7"`)
}

// faultStep is the distance of the requests at which faults are injected.
func faultStep() int {
	if testing.Short() {
		return 5
	}
	return 1
}

// TestSubmitServiceAway lets the service be away from each request of a submit on, as after a kill of
// pfsd. When it is back, the job runs, or nothing is left, or what is left is named and can be deleted.
func TestSubmitServiceAway(t *testing.T) {
	s := newJobService(t)
	const submit = "submit -jobname j -entry x pkg"
	for from := 1; ; from += faultStep() {
		s.set(func(n int, w http.ResponseWriter) bool {
			if n < from {
				return false
			}
			w.Header().Set(wire.HeaderProtocol, "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		})
		got := s.run(submit)
		s.set(nil)
		if got.code == 0 {
			if from < 10 {
				t.Errorf("only %d requests were made", from)
			}
			return
		}
		if got.code != cliio.Unavailable {
			t.Fatalf("from request %d on: code %d\n%s", from, got.code, got.stderr)
		}
		if s.jobsDir() {
			_, err := job.ReadRecord(context.Background(), s.fs, "dc", "alice", "j")
			if err == nil && !strings.Contains(got.stderr, "hint: paddlectl de") { // delete, or describe
				t.Fatalf("from request %d on: the job is left and not named\n%s", from, got.stderr)
			}
			if err == nil && s.engine.Submitted == 0 {
				s.want(0, "delete j")
			}
		}
		if s.engine.Submitted > 0 {
			s.want(0, "kill -rm j")
			s.engine.Submitted = 0
		}
		s.want(0, submit)
		s.want(0, "kill -rm j")
		s.engine.Submitted = 0
		if err := pfs.RemoveTree(context.Background(), s.fs, home+"/jobs"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSubmitTokenExpires lets the token expire at each request of a submit: it is renewed, and the job
// starts once.
func TestSubmitTokenExpires(t *testing.T) {
	s := newJobService(t)
	for at := 1; ; at += faultStep() {
		expired := false
		s.set(func(n int, w http.ResponseWriter) bool {
			if n != at {
				return false
			}
			expired = true
			b := wire.Encode(wire.NewError(pfs.Errorf("test.Verify", "", pfs.Unauthenticated, "the token has expired")))
			w.Header().Set(wire.HeaderProtocol, "1")
			w.Header().Set("Content-Type", wire.TypeMessage)
			w.Header().Set("Content-Length", fmt.Sprint(len(b)))
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write(b)
			return true
		})
		got := s.run(fmt.Sprintf("submit -jobname j%d -entry x pkg", at))
		s.set(nil)
		switch {
		case !expired:
			if at < 10 {
				t.Errorf("only %d requests were made", at)
			}
			return
		case got.code == 0 && s.engine.Submitted == 1:
			s.engine.Submitted = 0
		case at <= 2 && got.code == cliio.Denied: // the description of the service, and the login: nothing has begun
		default:
			t.Fatalf("at request %d: code %d, %d jobs\n%s", at, got.code, s.engine.Submitted, got.stderr)
		}
	}
}
