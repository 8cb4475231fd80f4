package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// scene is an engine over a fake cluster, and a store.
type scene struct {
	*Engine
	f       *fake
	fsys    pfs.FileSystem
	commits int
	commit  error
	tokens  int

	abandoned map[string]string // why, by worker and attempt
	unmarked  error
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{f: &fake{}, fsys: memfs.New(memfs.Options{}), abandoned: map[string]string{}}
	s.Engine = &Engine{c: s.f.client(t), Options: Options{
		Config: testConfig(), Datacenter: "dc1", Log: slog.New(slog.DiscardHandler),
		Token: func(string) (string, time.Time, error) {
			s.tokens++
			return fmt.Sprint("token-", s.tokens), time.Now().Add(15 * time.Minute), nil
		},
		Store:  func(string) (pfs.FileSystem, error) { return s.fsys, nil },
		Commit: func(context.Context, pfs.FileSystem, *job.Spec, int, []string) error { s.commits++; return s.commit },
		Abandon: func(_ context.Context, _ pfs.FileSystem, _ *job.Spec, w *job.Worker, reason string) error {
			s.abandoned[fmt.Sprintf("%s/%d", w.Name, w.Attempt)], w.Outputs = reason, "_INCOMPLETE"
			return s.unmarked
		},
	}}
	if err := pfs.MkdirAll(t.Context(), s.fsys, job.Dir("dc1", "alice@example.com", "Fit.A-line"), 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

const object1 = "fit-a-line-1e29c8fa"

// left returns what the cluster has besides the namespace and its first objects.
func (s *scene) left() (list []string) {
	for _, kind := range []string{"configmaps", "secrets", "services", "statefulsets", "jobs"} {
		for _, name := range s.f.names(kind) {
			if name == quotaName {
				continue // of the namespace
			}
			list = append(list, kind+"/"+name)
		}
	}
	return list
}

func (s *scene) submit(t *testing.T) {
	t.Helper()
	if err := s.Submit(t.Context(), testSpec()); err != nil {
		t.Fatal(err)
	}
}

// pass goes on with all jobs n times.
func (s *scene) pass(t *testing.T, n int) {
	t.Helper()
	written := map[key]string{}
	for range n {
		_, err := s.sweep(t.Context())
		if err = errors.Join(err, s.Engine.pass(t.Context(), written)); err != nil {
			t.Fatal(err)
		}
	}
}

// state returns the job as the engine and the store have it.
func (s *scene) state(t *testing.T) *job.Record {
	t.Helper()
	r, err := s.Job(t.Context(), "alice@example.com", "Fit.A-line")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := job.ReadRecord(t.Context(), s.fsys, "dc1", "alice@example.com", "Fit.A-line")
	if err != nil {
		t.Fatal(err)
	}
	if stored.State != r.State || stored.Attempt != r.Attempt {
		t.Errorf("the store has %s, attempt %d; the engine %s, attempt %d", stored.State, stored.Attempt, r.State, r.Attempt)
	}
	return r
}

func wantKind(t *testing.T, err error, kind pfs.Kind, text string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want %v: %s", err, kind, text)
	}
}

func TestSubmit(t *testing.T) {
	s := newScene(t)
	plan, err := s.Plan(t.Context(), testSpec())
	if err != nil || len(plan) != 6 || len(s.f.names("namespaces")) != 0 {
		t.Errorf("Plan = %d objects, %v; namespaces %q", len(plan), err, s.f.names("namespaces"))
	}
	s.submit(t)
	want := []string{"configmaps/" + object1, "secrets/" + object1, "services/" + object1, "statefulsets/" + object1 + "-1-pserver", "jobs/" + object1 + "-1-trainer"}
	if got := s.left(); !slices.Equal(got, want) {
		t.Errorf("there are %q", got)
	}
	first := slices.IndexFunc(s.f.log, func(l string) bool {
		return strings.HasPrefix(l, "POST") && strings.HasSuffix(l, "/configmaps/"+object1)
	})
	last := -1
	for i, l := range s.f.log {
		if strings.HasPrefix(l, "DRY") {
			last = i
		}
	}
	if last < 0 || first < last {
		t.Errorf("objects were created before all were checked: %q", s.f.log)
	}
	if err := s.Submit(t.Context(), testSpec()); err != nil {
		t.Errorf("the same submission again: %v", err)
	}
	other := testSpec()
	other.ID = "other"
	wantKind(t, s.Submit(t.Context(), other), pfs.Exist, "paddlectl kill Fit.A-line")
	r, err := s.Job(t.Context(), "alice@example.com", "Fit.A-line")
	if err != nil || r.State != job.Pending || len(r.Workers) != 3 || r.Attempt != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	list, err := s.Jobs(t.Context(), "alice@example.com")
	if err != nil || len(list) != 1 {
		t.Errorf("%d jobs, %v", len(list), err)
	}
	_, err = s.Job(t.Context(), "bob", "Fit.A-line")
	wantKind(t, err, pfs.NotExist, `there is no job "Fit.A-line"`)
}

// TestSubmitFails refuses the creation of each object, in the rehearsal and after it. Nothing must be left.
func TestSubmitFails(t *testing.T) {
	for _, kind := range []string{"configmaps", "secrets", "services", "statefulsets", "jobs", "pods"} {
		for _, rehearsal := range []bool{true, false} {
			if kind == "pods" && !rehearsal {
				continue
			}
			t.Run(fmt.Sprint(kind, rehearsal), func(t *testing.T) {
				s := newScene(t)
				s.f.refuse = func(r *http.Request, dry bool) int {
					if r.Method == http.MethodPost && dry == rehearsal && strings.HasSuffix(r.URL.Path, "/"+kind) {
						return 403
					}
					return 0
				}
				wantKind(t, s.Submit(t.Context(), testSpec()), pfs.Permission, "refused by the test")
				if left := s.left(); len(left) != 0 {
					t.Errorf("%q are left", left)
				}
			})
		}
	}
}

// TestWebhook strips the sidecar, as old webhooks do: of the pod in the rehearsal, or of the Job that is created.
func TestWebhook(t *testing.T) {
	for _, kind := range []string{"/pods/", "/jobs/"} {
		s := newScene(t)
		s.f.change = func(path string, o tree) {
			if !strings.Contains(path, kind) {
				return
			}
			spec := o["spec"].(tree)
			if t, ok := get(spec, "template", "spec").(tree); ok {
				spec = t
			}
			for _, c := range spec["initContainers"].([]any) {
				delete(c.(tree), "restartPolicy")
			}
		}
		wantKind(t, s.Submit(t.Context(), testSpec()), pfs.Conflict, "initContainers[upload].restartPolicy")
		if left := s.left(); len(left) != 0 {
			t.Errorf("%q are left", left)
		}
	}
}

// TestQuota refuses a job that the quota of a new namespace cannot admit.
func TestQuota(t *testing.T) {
	s := newScene(t)
	s.Config.Quota = corev1.ResourceList{"pods": resource.MustParse("2"), "requests.cpu": resource.MustParse("4")}
	wantKind(t, s.Submit(t.Context(), testSpec()), pfs.Quota, "not enough pods: the job needs 3")
	quotas, err := s.Engine.Quota(t.Context(), "alice@example.com")
	if want := []job.Quota{{Resource: "pods", Limit: 2}, {Resource: "milli_cpu", Limit: 4000}}; err != nil || !slices.Equal(quotas, want) {
		t.Errorf("%v, %v", quotas, err)
	}
}

// TestAway submits and asks while the API server is away for 30 seconds. That is never "not found".
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		back := time.Now().Add(30 * time.Second)
		s.f.refuse = func(*http.Request, bool) int {
			if time.Now().Before(back) {
				return -1
			}
			return 0
		}
		s.submit(t)
		back = time.Now().Add(30 * time.Second)
		if r, err := s.Job(t.Context(), "alice@example.com", "Fit.A-line"); err != nil || r.State != job.Pending {
			t.Errorf("%+v, %v", r, err)
		}
		back = time.Now().Add(time.Hour)
		_, err := s.Job(t.Context(), "alice@example.com", "Fit.A-line")
		wantKind(t, err, pfs.Unavailable, "connection refused")
	})
}

// TestAbandoned ends pfsd in the middle of a submission. Another replica, or the same request again, goes on; if nobody
// does, what was created is removed.
func TestAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		ctx, cancel := context.WithCancel(t.Context())
		dead := false
		s.f.refuse = func(r *http.Request, dry bool) int {
			if r.Method == http.MethodPost && !dry && strings.HasSuffix(r.URL.Path, "/jobs") {
				dead = true
				cancel()
			}
			if dead {
				return -1
			}
			return 0
		}
		if err := s.Submit(ctx, testSpec()); err == nil {
			t.Fatal("no error")
		}
		s.f.refuse = nil
		if len(s.left()) != 4 {
			t.Errorf("%q are left", s.left())
		}
		s.pass(t, 1)
		s.submit(t)
		if len(s.left()) != 5 {
			t.Errorf("there are %q", s.left())
		}
		s.f.edit(t, "configmaps", object1, func(o tree) { delete(o["data"].(tree), recordKey) })
		time.Sleep(submitTime + time.Second)
		s.pass(t, 2)
		if left := s.left(); len(left) != 0 {
			t.Errorf("%q are left", left)
		}
	})
}

// TestAttempts fails two attempts; the third succeeds.
func TestAttempts(t *testing.T) {
	s := newScene(t)
	s.submit(t)
	for n := 1; n < 3; n++ {
		s.f.edit(t, "jobs", fmt.Sprintf("%s-%d-trainer", object1, n), condition("Failed", "PodFailurePolicy"))
		s.pass(t, 4)
		want := []string{fmt.Sprintf("%s-%d-trainer", object1, n+1)}
		if got := s.f.names("jobs"); !slices.Equal(got, want) {
			t.Fatalf("there are the Jobs %q, want %q", got, want)
		}
		note := fmt.Sprintf("%s-%d-trainer", object1, n) // a warning about an attempt that is over explains nothing
		s.f.mu.Lock()
		s.f.put("/api/v1/namespaces/"+job.Namespace("alice@example.com")+"/events/"+note, tree{
			"metadata": tree{"name": note}, "involvedObject": tree{"name": note}, "reason": "PodFailurePolicy", "message": "matching FailJob rule"})
		s.f.mu.Unlock()
		if r := s.state(t); r.Attempt != n+1 || !strings.Contains(r.Reason, "its pods are being made") {
			t.Errorf("attempt %d: %s", r.Attempt, r.Reason)
		}
	}
	s.f.edit(t, "jobs", object1+"-3-trainer", condition("Complete", ""))
	s.pass(t, 3)
	if r := s.state(t); r.State != job.Succeeded || r.Ended.IsZero() || s.commits != 1 {
		t.Errorf("%+v, %d commits", r, s.commits)
	}
	want := []string{"configmaps/" + object1, "jobs/" + object1 + "-3-trainer"}
	if got := s.left(); !slices.Equal(got, want) {
		t.Errorf("%q are left", got)
	}
	wantKind(t, s.Submit(t.Context(), &job.Spec{ID: "new", Name: "Fit.A-line", User: "alice@example.com", Image: "i", Roles: testSpec().Roles}), pfs.Exist, "paddlectl delete Fit.A-line")
	if err := s.Delete(t.Context(), "alice@example.com", "Fit.A-line"); err != nil || len(s.left()) != 0 {
		t.Errorf("%v; %q are left", err, s.left())
	}
}

// TestLastAttempt fails all attempts.
func TestLastAttempt(t *testing.T) {
	s := newScene(t)
	s.submit(t)
	for n := 1; n <= 3; n++ {
		s.f.edit(t, "jobs", fmt.Sprintf("%s-%d-trainer", object1, n), condition("Failed", "DeadlineExceeded"))
		s.pass(t, 4)
	}
	if r := s.state(t); r.State != job.Failed || r.Reason != "the time limit has passed" || r.Attempt != 3 || s.commits != 0 {
		t.Errorf("%+v", r)
	}
}

// TestNotCommitted ends with programs that succeeded, and outputs that did not arrive.
func TestNotCommitted(t *testing.T) {
	s := newScene(t)
	s.submit(t)
	s.f.edit(t, "jobs", object1+"-1-trainer", condition("Complete", ""))
	s.commit = pfs.Errorf("test.Commit", "", pfs.Unavailable, "the store is away")
	s.pass(t, 3)
	if r := s.state(t); r.State.Ended() {
		t.Errorf("%+v", r)
	}
	s.commit = pfs.Errorf("test.Commit", "/pfs/dc1/x", pfs.NotExist, "trainer-1 has _INCOMPLETE")
	s.pass(t, 3)
	if r := s.state(t); r.State != job.Failed || r.Reason != "the programs succeeded, and their outputs are not complete: trainer-1 has _INCOMPLETE" {
		t.Errorf("%+v", r)
	}
}

// TestKill ends a job, once by the caller and once by the service after the caller has gone.
func TestKill(t *testing.T) {
	s := newScene(t)
	s.submit(t)
	wantKind(t, s.Delete(t.Context(), "alice@example.com", "Fit.A-line"), pfs.Conflict, "paddlectl kill Fit.A-line")
	var last *job.Record
	tell := func(r *job.Record) { last = r }
	if err := s.Kill(t.Context(), "alice@example.com", "Fit.A-line", tell); err != nil {
		t.Fatal(err)
	}
	if r := s.state(t); r.State != job.Killed || last.State != job.Killed || !slices.Equal(s.left(), []string{"configmaps/" + object1}) {
		t.Errorf("%+v; %+v; %q are left", r, last, s.left())
	}
	if w := s.stored(t).Workers; len(w) != 3 || w[0].State != job.Killed || w[2].Outputs != "_INCOMPLETE" {
		t.Errorf("the workers of the killed job are %+v", w)
	}
	if err := s.Kill(t.Context(), "alice@example.com", "Fit.A-line", tell); err != nil {
		t.Errorf("again: %v", err)
	}

	s = newScene(t)
	s.submit(t)
	s.putPod(t, testPod("0", mainState(isRunning())))
	s.f.refuse = func(r *http.Request, _ bool) int {
		if r.Method == http.MethodDelete {
			return 403
		}
		return 0
	}
	if s.Kill(t.Context(), "alice@example.com", "Fit.A-line", tell) == nil {
		t.Error("no error")
	}
	s.f.refuse = nil
	s.pass(t, 3)
	if r := s.state(t); r.State != job.Killed || !slices.Equal(s.left(), []string{"configmaps/" + object1}) {
		t.Errorf("%+v; %q are left", r, s.left())
	}
	if w := s.stored(t).Workers; len(w) != 3 || w[0].State != job.Killed || w[0].Started.IsZero() || w[2].Outputs != "_INCOMPLETE" {
		t.Errorf("the workers of the killed job are %+v", w)
	}
}

// TestRenew replaces tokens before they expire, and removes what is over.
func TestRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.submit(t)
		s.pass(t, 2)
		if s.tokens != 1 {
			t.Errorf("%d tokens", s.tokens)
		}
		time.Sleep(8 * time.Minute)
		s.pass(t, 2)
		if s.tokens != 2 {
			t.Errorf("%d tokens after 8 minutes", s.tokens)
		}
		s.f.edit(t, "jobs", object1+"-1-trainer", condition("Complete", ""))
		s.pass(t, 3)
		time.Sleep(s.Config.Retention + time.Minute)
		s.pass(t, 2)
		if left := s.left(); len(left) != 0 {
			t.Errorf("%q are left", left)
		}
	})
}

func TestRegistry(t *testing.T) {
	s := newScene(t)
	spec := testSpec()
	spec.Registry = "Team"
	ctx := t.Context()
	wantKind(t, s.Submit(ctx, spec), pfs.NotExist, `there is no registry "Team"`)
	r := job.Registry{Name: "Team", Server: "registry.example.org", Username: "ann"}
	for _, password := range []string{"one", "two"} {
		if err := s.SetRegistry(ctx, spec.User, r, password); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.Registries(ctx, spec.User)
	if err != nil || len(list) != 1 || list[0].Server != r.Server || list[0].Username != "ann" {
		t.Errorf("%v, %v", list, err)
	}
	if err := s.Submit(ctx, spec); err != nil {
		t.Error(err)
	}
	if err := s.DeleteRegistry(ctx, spec.User, "Team"); err != nil {
		t.Error(err)
	}
	wantKind(t, s.DeleteRegistry(ctx, spec.User, "Team"), pfs.NotExist, "")
}

// addPod adds the pod of a trainer.
func (s *scene) addPod(t *testing.T, index string, change func(*corev1.Pod)) {
	t.Helper()
	s.putPod(t, testPod(index, change))
}

// TestNoMarker ends pods in ways that only the cluster sees. Before the next attempt or the end of the job, the outputs get
// a marker with the reason.
func TestNoMarker(t *testing.T) {
	s := newScene(t)
	s.submit(t)
	s.addPod(t, "0", mainState(ended0(137, "OOMKilled", "")))
	s.addPod(t, "1", mainState(isRunning())) // its node is lost
	s.f.edit(t, "jobs", object1+"-1-trainer", condition("Failed", "PodFailurePolicy"))
	s.pass(t, 2)
	if r := s.state(t); r.Attempt != 1 || len(s.abandoned) != 0 {
		t.Errorf("attempt %d, %q: a pod has not ended", r.Attempt, s.abandoned)
	}
	s.f.mu.Lock()
	for at := range s.f.objects {
		if strings.Contains(at, "/pods/") && strings.HasSuffix(at, "-1-x") {
			delete(s.f.objects, at)
		}
	}
	s.f.mu.Unlock()
	s.unmarked = pfs.Errorf("test.Abandon", "", pfs.Unavailable, "the store is away")
	s.pass(t, 2)
	if r := s.state(t); r.Attempt != 1 {
		t.Errorf("attempt %d began before the markers of the first were written", r.Attempt)
	}
	s.unmarked = pfs.Errorf("test.Abandon", "", pfs.Permission, "not allowed")
	s.pass(t, 4)
	want := map[string]string{
		"trainer-0/1": "no uploader is left: out of memory: killed at its limit of 2Gi",
		"trainer-1/1": "no uploader is left: its pod is gone",
		"pserver-0/1": "no uploader is left: its pod is gone",
	}
	if r := s.state(t); r.Attempt != 2 || !maps.Equal(s.abandoned, want) {
		t.Errorf("attempt %d: %q", r.Attempt, s.abandoned)
	}
	s.f.edit(t, "jobs", object1+"-2-trainer", condition("Complete", ""))
	s.pass(t, 3)
	if r := s.state(t); r.State != job.Succeeded || r.Workers[0].Outputs != "_INCOMPLETE" {
		t.Errorf("%+v", r)
	}

	s = newScene(t)
	s.submit(t)
	if err := s.Kill(t.Context(), "alice@example.com", "Fit.A-line", func(*job.Record) {}); err != nil || len(s.abandoned) != 3 {
		t.Errorf("after a kill: %v, %q", err, s.abandoned)
	}
}

// putPod adds a pod to the cluster.
func (s *scene) putPod(t *testing.T, p corev1.Pod) *corev1.Pod {
	t.Helper()
	p.TypeMeta, p.Namespace = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, job.Namespace("alice@example.com")
	text, err := json.Marshal(p)
	o := tree{}
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.f.put("/api/v1/namespaces/"+p.Namespace+"/pods/"+p.Name, o)
	return &p
}

// TestTaken: why a pod was taken away is known when it is gone.
func TestTaken(t *testing.T) {
	target := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "of the test"}
	taken := func(p *corev1.Pod) {
		mainState(isRunning())(p)
		p.Status.Conditions = []corev1.PodCondition{target}
	}
	t.Run("trainer", func(t *testing.T) {
		s := newScene(t)
		s.submit(t)
		p := s.putPod(t, testPod("1", taken))
		for range 2 {
			if err := s.noteTaken(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		s.f.collect(attemptName(testSpec(), 1, job.Trainer), "")
		s.f.edit(t, "jobs", object1+"-1-trainer", condition("Failed", "PodFailurePolicy"))
		s.pass(t, 4)
		if j := s.stored(t); j.Attempt != 2 || j.Failed != "trainer-1: evicted from its node: of the test" {
			t.Errorf("%+v", j)
		}
		if err := s.noteTaken(t.Context(), p); err != nil || s.stored(t).TakenN != 1 { // it is of an attempt that is over
			t.Errorf("%+v, %v", s.stored(t), err)
		}
	})
	t.Run("pserver", func(t *testing.T) {
		s := newScene(t)
		s.submit(t)
		s.putPod(t, testPod("0", mainState(isRunning())))
		s.putPod(t, testPod("1", mainState(isRunning())))
		server := testPod("0", taken)
		server.Name, server.Labels[labelRole] = attemptName(testSpec(), 1, job.Pserver)+"-0", job.Pserver
		if err := s.noteTaken(t.Context(), s.putPod(t, server)); err != nil {
			t.Fatal(err)
		}
		s.pass(t, 1)
		if j := s.stored(t); j.FailedN != 1 || j.Failed != "pserver-0: evicted from its node: of the test" {
			t.Errorf("%+v", j)
		}
	})
}

// TestServerReplaced: another pod in the place of a parameter server's ends the attempt, also if nobody saw why the first one went.
func TestServerReplaced(t *testing.T) {
	s := newScene(t)
	s.submit(t)
	pod := func(attempt, uid string) {
		p := testPod("0", mainState(isRunning()))
		p.Name, p.UID = object1+"-"+attempt+"-pserver-0", types.UID(uid)
		p.Labels[labelRole], p.Labels[labelAttempt] = job.Pserver, attempt
		s.putPod(t, p)
	}
	pod("1", "first")
	s.pass(t, 2)
	if j := s.stored(t); j.FailedN != 0 || j.Servers["pserver-0"] != "first" {
		t.Fatalf("%+v", j)
	}
	pod("1", "second")
	s.pass(t, 4)
	if j := s.stored(t); j.Attempt != 2 || !strings.HasPrefix(j.Failed, "pserver-0: its pod is gone, and with it what it knew") {
		t.Fatalf("%+v", j)
	}
	pod("2", "third")
	s.pass(t, 2)
	if j := s.stored(t); j.Attempt != 2 || j.FailedN != 1 || j.Servers["pserver-0"] != "third" {
		t.Errorf("%+v", j)
	}
}

// stored returns the state of the job in the cluster.
func (s *scene) stored(t *testing.T) *entry {
	t.Helper()
	j, err := s.find(t.Context(), "alice@example.com", "Fit.A-line")
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestUnpullable: a job whose image cannot be pulled fails after a while, and is not tried again.
func TestUnpullable(t *testing.T) {
	s := newScene(t)
	s.Config.PullTime = 10 * time.Minute
	s.submit(t)
	scheduled := func(ago time.Duration) {
		s.putPod(t, testPod("1", func(p *corev1.Pod) {
			mainState(isWaiting("ImagePullBackOff", "not found"))(p)
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-ago))}}
		}))
	}
	const want = "trainer-1: the image registry.example.org/train:1 cannot be pulled: not found"
	scheduled(time.Minute)
	s.pass(t, 2)
	if r := s.state(t); r.State != job.Pending || !strings.Contains(r.Reason, want) {
		t.Errorf("%+v", r)
	}
	scheduled(time.Hour)
	s.pass(t, 4)
	if r := s.state(t); r.State != job.Failed || r.Reason != want || r.Attempt != 1 {
		t.Errorf("%+v", r)
	}
}

// TestQuotaComesLater: a namespace whose quota could not be made gets it with the next submission, and not again when an administrator
// has removed it.
func TestQuotaComesLater(t *testing.T) {
	s := newScene(t)
	s.Config.Quota = corev1.ResourceList{"pods": resource.MustParse("20")}
	s.f.refuse = func(r *http.Request, _ bool) int {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/resourcequotas") {
			return 403
		}
		return 0
	}
	for range 2 {
		wantKind(t, s.Submit(t.Context(), testSpec()), pfs.Permission, "refused by the test")
	}
	s.f.refuse = nil
	s.submit(t)
	if names := s.f.names("resourcequotas"); len(names) != 1 {
		t.Fatalf("there are the quotas %q", names)
	}
	s.f.mu.Lock()
	delete(s.f.objects, "/api/v1/namespaces/"+job.Namespace("alice@example.com")+"/resourcequotas/"+quotaName)
	s.f.mu.Unlock()
	s.submitOther(t)
	if names := s.f.names("resourcequotas"); len(names) != 0 {
		t.Errorf("there are the quotas %q", names)
	}
	list, err := s.Jobs(t.Context(), "alice@example.com")
	if err != nil || len(list) != 2 {
		t.Errorf("%d jobs, %v", len(list), err)
	}
}
