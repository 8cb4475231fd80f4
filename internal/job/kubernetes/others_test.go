package kubernetes

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// submitOther submits a second job of the user.
func (s *scene) submitOther(t *testing.T) *job.Spec {
	t.Helper()
	other := testSpec()
	other.ID, other.Name = "fedcba9876543210", "other"
	if err := pfs.MkdirAll(t.Context(), s.fsys, job.Dir(other.Datacenter, other.User, other.Name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.Submit(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	return other
}

// TestOthersGoOn: a job whose objects cannot be removed holds up no other job.
func TestOthersGoOn(t *testing.T) {
	succeeds := func(t *testing.T, s *scene, other *job.Spec) {
		t.Helper()
		s.f.edit(t, "jobs", attemptName(other, 1, job.Trainer), condition("Complete", ""))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range 3 {
			_, err := s.sweep(ctx)
			if err = errors.Join(err, s.Engine.pass(ctx, map[key]string{})); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := s.Job(t.Context(), other.User, other.Name); err != nil || r.State != job.Succeeded {
			t.Errorf("the other job: %+v, %v", r, err)
		}
	}
	t.Run("refused", func(t *testing.T) {
		s := newScene(t)
		s.submit(t)
		if err := s.Kill(t.Context(), "alice@example.com", "Fit.A-line", func(*job.Record) {}); err != nil {
			t.Fatal(err)
		}
		other := s.submitOther(t)
		s.f.refuse = func(r *http.Request, _ bool) int {
			if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/configmaps/"+object1) {
				return 403
			}
			return 0
		}
		s.Config.Retention = time.Nanosecond
		succeeds(t, s, other)
	})
	t.Run("still ending", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t)
			s.submit(t)
			p := testPod("0", mainState(isRunning()))
			p.Name = "ends-slowly"
			s.putPod(t, p)
			s.f.edit(t, "configmaps", object1, func(o tree) { delete(o["data"].(tree), recordKey) })
			other := s.submitOther(t)
			time.Sleep(submitTime + time.Second)
			succeeds(t, s, other)
			s.f.mu.Lock()
			delete(s.f.objects, "/api/v1/namespaces/"+job.Namespace("alice@example.com")+"/pods/ends-slowly")
			s.f.mu.Unlock()
			s.pass(t, 2)
			for _, name := range s.left() {
				if strings.Contains(name, object1) {
					t.Errorf("%s is left of the submission", name)
				}
			}
		})
	})
}
