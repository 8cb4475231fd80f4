// Package jobtest has test doubles for jobs: a job.Engine that runs nothing, and an OpenPAI.
package jobtest

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// Engine knows the jobs that were submitted. They run until they are killed.
type Engine struct {
	Log  func(w io.Writer) error // what Logs writes; nil for nothing
	Left error                   // the error of Kill

	mu         sync.Mutex
	jobs       map[string]job.Record // by user and name
	registries map[string]job.Registry
	Submitted  int    // number of jobs
	Password   string // USER:PASSWORD of the last registry
}

// New returns an Engine without jobs.
func New() *Engine {
	return &Engine{jobs: map[string]job.Record{}, registries: map[string]job.Registry{}}
}

// Plan is Engine.Plan. The image "none" exceeds a quota.
func (e *Engine) Plan(_ context.Context, s *job.Spec) ([]json.RawMessage, error) {
	if s.Image == "none" {
		return nil, pfs.Errorf("jobtest.Plan", "", pfs.Quota, "gpu: 2 of 2 are used")
	}
	return []json.RawMessage{json.RawMessage(`{"kind":"Job"}`)}, nil
}

// Submit is Engine.Submit.
func (e *Engine) Submit(_ context.Context, s *job.Spec) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.jobs[s.User+"/"+s.Name]; ok {
		return pfs.Errorf("jobtest.Submit", "", pfs.Exist, "job %q", s.Name)
	}
	r := job.Record{Spec: *s, Engine: "test", State: job.Running, Attempt: 1}
	for _, role := range s.Roles {
		for i := range role.Replicas {
			r.Workers = append(r.Workers, job.Worker{Name: job.WorkerName(role.Name, i), Role: role.Name, Index: i, Attempt: 1, State: job.Running})
		}
	}
	e.jobs[s.User+"/"+s.Name] = r
	e.Submitted++
	return nil
}

// Jobs is Engine.Jobs.
func (e *Engine) Jobs(_ context.Context, user string) (list []job.Record, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, r := range e.jobs {
		if strings.HasPrefix(name, user+"/") {
			list = append(list, r)
		}
	}
	return list, nil
}

// Job is Engine.Job.
func (e *Engine) Job(_ context.Context, user, name string) (*job.Record, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r, ok := e.jobs[user+"/"+name]
	if !ok {
		return nil, pfs.Errorf("jobtest.Job", "", pfs.NotExist, "there is no job %q", name)
	}
	return &r, nil
}

// Logs is Engine.Logs.
func (e *Engine) Logs(_ context.Context, _, _ string, _ job.LogOptions, w io.Writer) error {
	if e.Log == nil {
		return nil
	}
	return e.Log(w)
}

// Kill is Engine.Kill.
func (e *Engine) Kill(ctx context.Context, user, name string, tell func(*job.Record)) error {
	r, err := e.Job(ctx, user, name)
	if err != nil {
		return err
	}
	for _, s := range []job.State{job.Killing, job.Killed} {
		r.State = s
		for i := range r.Workers {
			r.Workers[i].State = s
		}
		tell(r)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.jobs[user+"/"+name] = *r
	return e.Left
}

// Delete is Engine.Delete.
func (e *Engine) Delete(_ context.Context, user, name string) error {
	delete(e.jobs, user+"/"+name)
	return nil
}

// Quota is Engine.Quota.
func (e *Engine) Quota(context.Context, string) ([]job.Quota, error) {
	return []job.Quota{{Resource: "gpu", Used: 1, Limit: 2}}, nil
}

// Registries is Registrar.Registries.
func (e *Engine) Registries(context.Context, string) (list []job.Registry, err error) {
	for _, r := range e.registries {
		list = append(list, r)
	}
	return list, nil
}

// SetRegistry is Registrar.SetRegistry.
func (e *Engine) SetRegistry(_ context.Context, user string, r job.Registry, password string) error {
	e.registries[r.Name], e.Password = r, user+":"+password
	return nil
}

// DeleteRegistry is Registrar.DeleteRegistry.
func (e *Engine) DeleteRegistry(_ context.Context, _, name string) error {
	if _, ok := e.registries[name]; !ok {
		return pfs.Errorf("jobtest.DeleteRegistry", "", pfs.NotExist, "there is no registry %q", name)
	}
	delete(e.registries, name)
	return nil
}
