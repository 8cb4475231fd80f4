package kubernetes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// TestEndedMeanwhile: a job is killed, and perhaps deleted, after a pass has read its state and before the pass comes to it.
func TestEndedMeanwhile(t *testing.T) {
	for name, before := range map[string]func(*testing.T, *scene){
		"running":  func(t *testing.T, s *scene) { s.addPod(t, "0", mainState(isRunning())) },
		"complete": func(t *testing.T, s *scene) { s.f.edit(t, "jobs", object1+"-1-trainer", condition("Complete", "")) },
		"failed":   func(t *testing.T, s *scene) { s.f.edit(t, "jobs", object1+"-1-trainer", condition("Failed", "")) },
		"between attempts": func(t *testing.T, s *scene) {
			s.f.edit(t, "jobs", object1+"-1-trainer", condition("Failed", ""))
			for s.stored(t).Attempt == 1 {
				s.pass(t, 1)
			}
		},
	} {
		for _, c := range []struct{ deleted, written bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
			t.Run(fmt.Sprint(name, c), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newScene(t)
					s.submit(t)
					before(t, s)
					outputs := job.Dir("dc1", "alice@example.com", "Fit.A-line").Join("attempts")
					if err := s.fsys.Mkdir(t.Context(), outputs, 0o755); err != nil {
						t.Fatal(err)
					}
					stale := s.stored(t)
					found, err := s.look(t.Context(), stale.ns(), stale.selector())
					if err != nil {
						t.Fatal(err)
					}
					objects, written := found[key{stale.ns(), stale.name()}], map[key]string{}
					if objects == nil {
						objects = &seen{}
					}
					if c.written {
						if err := s.write(t.Context(), stale, objects, written); err != nil {
							t.Fatal(err)
						}
					}
					if err := s.Kill(t.Context(), stale.Spec.User, stale.Spec.Name, func(*job.Record) {}); err != nil {
						t.Fatal(err)
					}
					want := []string{"configmaps/" + object1}
					if c.deleted {
						want = nil
						if err := job.Delete(t.Context(), s.fsys, s, "dc1", stale.Spec.User, stale.Spec.Name); err != nil {
							t.Fatal(err)
						}
					}
					if err := s.step(t.Context(), stale, objects, written); err != nil && !errors.Is(err, pfs.Conflict) {
						t.Errorf("%v", err)
					}
					if left := s.left(); !slices.Equal(left, want) {
						t.Errorf("%q are left", left)
					}
					if !c.deleted {
						if r := s.state(t); r.State != job.Killed || r.Attempt != stale.Attempt {
							t.Errorf("%+v", r)
						}
					} else if r, err := job.ReadRecord(t.Context(), s.fsys, "dc1", stale.Spec.User, stale.Spec.Name); !errors.Is(err, pfs.NotExist) {
						t.Errorf("the record of the deleted job is there: %+v, %v", r, err)
					}
				})
			})
		}
	}
}

// TestEndedWhileBegun: Kill ends a job, which is perhaps deleted, while the objects of its next attempt, or of its first one, are being created.
func TestEndedWhileBegun(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		s := newScene(t)
		s.submit(t)
		s.f.edit(t, "jobs", object1+"-1-trainer", condition("Failed", ""))
		for s.stored(t).Attempt == 1 {
			s.pass(t, 1)
		}
		s.f.change = func(at string, _ tree) {
			if strings.HasSuffix(at, "/jobs/"+object1+"-2-trainer") {
				s.endedByKill(deleted)
			}
		}
		s.pass(t, 4)
		s.f.change = nil
		s.pass(t, 2)
		var want []string
		if !deleted {
			want = []string{"configmaps/" + object1}
		}
		if left := s.left(); !slices.Equal(left, want) {
			t.Errorf("%q are left", left)
		}
	}
	s := newScene(t)
	s.f.change = func(at string, _ tree) {
		if strings.HasSuffix(at, "/jobs/"+object1+"-1-trainer") {
			s.endedByKill(false)
		}
	}
	wantKind(t, s.Submit(t.Context(), testSpec()), pfs.Conflict, "killed")
	if left := s.left(); len(left) != 0 {
		t.Errorf("%q are left of the submission", left)
	}
}

// endedByKill does to the state of the job what Kill does when it finds nothing to end. The fake is locked.
func (s *scene) endedByKill(deleted bool) {
	for at, o := range s.f.objects {
		if strings.HasSuffix(at, "/secrets/"+object1) || strings.HasSuffix(at, "/services/"+object1) {
			delete(s.f.objects, at)
		}
		if strings.HasSuffix(at, "/configmaps/"+object1) {
			o["data"].(tree)[recordKey] = fmt.Sprintf(`{"state": "Killed", "kill": true, "attempt": 1, "created": 1, "ended": %q}`, time.Now().Format(time.RFC3339))
			o["metadata"].(tree)["labels"].(tree)[labelState] = ended
			if s.f.put(at, o); deleted {
				delete(s.f.objects, at)
			}
		}
	}
}
