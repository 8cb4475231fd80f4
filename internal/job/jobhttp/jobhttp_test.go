package jobhttp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/jobhttp"
	"github.com/paddlecloud/pfs/internal/job/jobtest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/client"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/server"
)

// plain is an engine without registries.
type plain struct{ job.Engine }

// tokens accepts the name of a user as a token.
type tokens struct{ server.Authenticator }

func (tokens) Verify(_ context.Context, access string) (auth.Identity, error) {
	if access == "expired" {
		return auth.Identity{}, pfs.Errorf("test.Verify", "", pfs.Unauthenticated, "the token has expired")
	}
	return auth.Identity{Name: access}, nil
}

// service is a service whose datacenter dc1 has an engine. wrap, if not nil, stands before it.
type service struct {
	*httptest.Server
	engine *jobtest.Engine
	tree   *memfs.FS
	log    *bytes.Buffer
}

func start(t *testing.T, wrap func(http.Handler) http.Handler) *service {
	s := &service{engine: jobtest.New(), tree: memfs.New(memfs.Options{}), log: &bytes.Buffer{}}
	extensions := map[string]server.Extension{}
	for name, m := range jobhttp.Methods(jobhttp.Engines{"dc1": {Name: "test", Engine: s.engine}, "dc2": {Name: "plain", Engine: plain{s.engine}}}) {
		e := server.Extension{Serve: m}
		if jobhttp.Changes(name) {
			e.Fields = jobhttp.Fields
		}
		extensions[name] = e
	}
	srv := server.New(server.Config{
		Auth: tokens{}, View: func(auth.Identity, string) pfs.FileSystem { return s.tree }, Datacenters: []string{"dc1"}, Current: "dc1",
		Extensions: extensions, Audit: slog.New(slog.NewTextHandler(s.log, nil)),
	})
	var h http.Handler = srv
	if wrap != nil {
		h = wrap(srv)
	}
	s.Server = httptest.NewServer(h)
	t.Cleanup(func() { s.Server.Close(); srv.Close() })
	return s
}

// as returns a client with the tokens, one after the other.
func (s *service) as(t *testing.T, tokens ...string) *client.Client {
	c, err := client.New(client.Options{Endpoint: s.URL, Token: func(context.Context, string) (string, error) {
		token := tokens[0]
		if len(tokens) > 1 {
			tokens = tokens[1:]
		}
		return token, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func spec(name string) *job.Spec {
	return &job.Spec{
		ID: pfs.NewID(), Name: name, User: "alice", Datacenter: "dc1", Package: "/pfs/dc1/home/alice/p", Entry: "true", Passes: 1,
		Roles: []job.Role{{Name: job.Trainer, Replicas: 1, CPU: 1000, Memory: 1 << 30}}, MaxAttempts: 1, Restart: job.RestartJob,
	}
}

func TestEngine(t *testing.T) {
	ctx := t.Context()
	s := start(t, nil)
	tr := s.as(t, "alice")
	for dc, want := range map[string]string{"dc1": "test", "dc2": "plain", "other": ""} {
		if name, err := jobhttp.Engine(ctx, tr, dc); name != want || err != nil {
			t.Errorf("%s: %q, %v", dc, name, err)
		}
	}
	e := jobhttp.NewClient(tr, "dc1")
	if plan, err := e.Plan(ctx, spec("a")); err != nil || len(plan) != 1 || string(plan[0]) != `{"kind":"Job"}` {
		t.Errorf("%s, %v", plan, err)
	}
	quota := spec("a")
	quota.Image = "none"
	if _, err := e.Plan(ctx, quota); !errors.Is(err, pfs.Quota) || !strings.Contains(err.Error(), "2 of 2 are used") {
		t.Error(err)
	}
	if err := e.Submit(ctx, spec("a")); err != nil {
		t.Fatal(err)
	}
	if err := e.Submit(ctx, spec("a")); !errors.Is(err, pfs.Exist) {
		t.Error("a second job of that name:", err)
	}
	list, err := e.Jobs(ctx, "somebody else")
	if err != nil || len(list) != 1 || list[0].Spec.Name != "a" {
		t.Error(list, err)
	}
	if r, err := e.Job(ctx, "", "a"); err != nil || r.State != job.Running {
		t.Error(r, err)
	}
	if _, err := e.Job(ctx, "", "b"); !errors.Is(err, pfs.NotExist) {
		t.Error(err)
	}
	var states []job.State
	s.engine.Left = pfs.Errorf("test.Kill", "", pfs.Conflict, "a worker is left")
	if err := e.Kill(ctx, "", "a", func(r *job.Record) { states = append(states, r.State) }); !errors.Is(err, pfs.Conflict) || fmt.Sprint(states) != "[Killing Killed]" {
		t.Error(states, err)
	}
	if q, err := e.Quota(ctx, ""); err != nil || q[0].Limit != 2 {
		t.Error(q, err)
	}
	if err := e.SetRegistry(ctx, "", job.Registry{Name: "r"}, "secret"); err != nil || s.engine.Password != "alice:secret" {
		t.Error(err)
	}
	if err := e.SetRegistry(ctx, "", job.Registry{Name: "a_b"}, "secret"); !errors.Is(err, pfs.Invalid) {
		t.Error(err)
	}
	if r, err := e.Registries(ctx, ""); err != nil || len(r) != 1 || r[0].Name != "r" {
		t.Error(r, err)
	}
	if err := e.DeleteRegistry(ctx, "", "none"); !errors.Is(err, pfs.NotExist) {
		t.Error(err)
	}
	if err := e.Delete(ctx, "", "a"); err != nil {
		t.Error(err)
	}
	if err := jobhttp.NewClient(tr, "other").Delete(ctx, "", "a"); !errors.Is(err, pfs.Unsupported) {
		t.Error(err)
	}
	if _, err := jobhttp.NewClient(tr, "dc2").Registries(ctx, ""); !errors.Is(err, pfs.Unsupported) {
		t.Error(err)
	}
	log := s.log.String()
	for _, want := range []string{
		"user=alice", "method=jobs.submit result=ok datacenter=dc1 job=a package=/pfs/dc1/home/alice/p", `method=jobs.submit result="already exists"`,
		"method=jobs.kill", "method=jobs.delete", "method=jobs.set-registry result=ok datacenter=dc1 name=r",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the audit log lacks %q:\n%s", want, log)
		}
	}
	if strings.Contains(log, "secret") || strings.Contains(log, "jobs.list") {
		t.Error(log)
	}
}

// TestIdentity checks that users cannot act for others, and that a token is renewed in the middle.
func TestIdentity(t *testing.T) {
	ctx := t.Context()
	s := start(t, nil)
	e := jobhttp.NewClient(s.as(t, "expired", "alice"), "dc1")
	if err := e.Submit(ctx, spec("a")); err != nil {
		t.Fatal(err)
	}
	bob := jobhttp.NewClient(s.as(t, "bob"), "dc1")
	if err := bob.Submit(ctx, spec("b")); !errors.Is(err, pfs.Permission) {
		t.Error(err)
	}
	if list, err := bob.Jobs(ctx, "alice"); err != nil || len(list) > 0 {
		t.Error(list, err)
	}
	for what, change := range map[string]func(*job.Spec){
		"name":       func(s *job.Spec) { s.Name = "a_b" },
		"datacenter": func(s *job.Spec) { s.Datacenter = "dc2" },
		"no ID":      func(s *job.Spec) { s.ID = "" },
	} {
		q := spec("c")
		change(q)
		if err := e.Submit(ctx, q); !errors.Is(err, pfs.Invalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := jobhttp.NewClient(s.as(t, "expired"), "dc1").Submit(ctx, spec("d")); !errors.Is(err, pfs.Unauthenticated) {
		t.Error(err)
	}
	// The name is reserved in the store by another submit.
	if err := job.CreateRecord(ctx, s.tree, &job.Record{Spec: *spec("e")}); err != nil {
		t.Fatal(err)
	}
	if err := e.Submit(ctx, spec("e")); !errors.Is(err, pfs.Exist) {
		t.Error(err)
	}
}

// TestLostAnswer cuts the connection when the answer begins: the repeated request finds its own job.
func TestLostAnswer(t *testing.T) {
	var cut atomic.Int32
	s := start(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "jobs.submit") && cut.Add(1) == 1 {
				h.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			}
			h.ServeHTTP(w, r)
		})
	})
	if err := jobhttp.NewClient(s.as(t, "alice"), "dc1").Submit(t.Context(), spec("a")); err != nil || s.engine.Submitted != 1 || cut.Load() < 2 {
		t.Error(err, s.engine.Submitted, cut.Load())
	}
}

// TestLogs ends a log in the middle of a line: the answer to the repeated request goes on behind it.
func TestLogs(t *testing.T) {
	s := start(t, nil)
	line := func(worker string, second int, text string) []byte {
		l := job.LogLine{Time: time.Unix(int64(second), 0), Stream: job.Stdout, Text: []byte(text)}
		return job.AppendWorkerLine(nil, worker, l)
	}
	all := bytes.Join([][]byte{line("trainer-0", 1, "a"), line("trainer-0", 2, "b"), line("trainer-1", 1, "c"), line("trainer-1", 3, strings.Repeat("d", 100_000))}, nil)
	tries := 0
	s.engine.Log = func(w io.Writer) error {
		tries++
		if tries == 1 {
			_, _ = w.Write(all[:len(all)-10])
			return pfs.Errorf("test.Logs", "", pfs.Unavailable, "away")
		}
		_, err := w.Write(all)
		return err
	}
	var got bytes.Buffer
	err := jobhttp.NewClient(s.as(t, "alice"), "dc1").Logs(t.Context(), "", "a", job.LogOptions{Lines: -1}, &got)
	if err == nil && !bytes.Equal(got.Bytes(), all) {
		t.Errorf("%d bytes, want %d: %.300s", got.Len(), len(all), got.Bytes())
	}
	if err != nil || tries != 2 {
		t.Error(tries, err)
	}
}
