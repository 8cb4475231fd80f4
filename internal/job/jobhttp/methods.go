package jobhttp

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// Engines are the engines of the datacenters that have one, by datacenter.
type Engines map[string]NamedEngine

// NamedEngine is an engine with its name.
type NamedEngine struct {
	Name string
	job.Engine
}

// Method serves the requests of a user. tree is the user's view of the namespace.
type Method func(ctx context.Context, user string, tree pfs.FileSystem, request []byte, w io.Writer) error

// Methods returns the methods of the protocol by name.
func Methods(engines Engines) map[string]Method {
	all := map[string]Method{
		methodEngine: func(_ context.Context, _ string, _ pfs.FileSystem, b []byte, w io.Writer) error {
			var q request
			if err := json.Unmarshal(b, &q); err != nil {
				return pfs.Errorf("jobhttp.engine", "", pfs.Invalid, "%w", err)
			}
			return reply(w, engineReply{engines[q.Datacenter].Name})
		},
	}
	for name, do := range table {
		all[name] = func(ctx context.Context, user string, tree pfs.FileSystem, b []byte, w io.Writer) error {
			c := &call{user: user, tree: tree, w: w}
			if err := json.Unmarshal(b, &c.request); err != nil {
				return pfs.Errorf("jobhttp.serve", "", pfs.Invalid, "%w", err)
			}
			e, ok := engines[c.Datacenter]
			if !ok {
				return pfs.Errorf("jobhttp.serve", "", pfs.Unsupported, "the datacenter %q has no engine for jobs: jobs run on the machine that submits them", c.Datacenter)
			}
			c.engine = e.Engine
			return do(ctx, c)
		}
	}
	return all
}

// Fields returns the fields of the audit line of a request.
func Fields(b []byte) []any {
	var q request
	if json.Unmarshal(b, &q) != nil {
		return nil
	}
	name := q.Name
	switch {
	case q.Spec != nil:
		return []any{"datacenter", q.Datacenter, "job", q.Spec.Name, "package", string(q.Spec.Package), "image", q.Spec.Image}
	case q.Registry != nil:
		name = q.Registry.Name
	}
	return []any{"datacenter", q.Datacenter, "name", name}
}

// Changes reports whether a method changes anything.
func Changes(method string) bool {
	switch method {
	case methodSubmit, methodKill, methodDelete, methodSetRegistry, methodDeleteRegistry:
		return true
	}
	return false
}

// call is one request.
type call struct {
	request
	user   string
	tree   pfs.FileSystem
	engine job.Engine
	w      io.Writer
}

func reply(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

// done answers a method without a result.
func (c *call) done(err error) error {
	if err != nil {
		return err
	}
	return reply(c.w, struct{}{})
}

// result answers v.
func result[V any](c *call, v V, err error) error {
	if err != nil {
		return err
	}
	return reply(c.w, v)
}

// table maps the methods to their implementations.
var table = map[string]func(ctx context.Context, c *call) error{
	methodPlan: func(ctx context.Context, c *call) error {
		if err := c.checkSpec(); err != nil {
			return err
		}
		plan, err := c.engine.Plan(ctx, c.Spec)
		return result(c, plan, err)
	},
	methodSubmit: func(ctx context.Context, c *call) error { return c.done(c.submit(ctx)) },
	methodJobs: func(ctx context.Context, c *call) error {
		list, err := c.engine.Jobs(ctx, c.user)
		return result(c, list, err)
	},
	methodJob: func(ctx context.Context, c *call) error {
		r, err := c.engine.Job(ctx, c.user, c.Name)
		return result(c, r, err)
	},
	methodLogs: func(ctx context.Context, c *call) error {
		if c.Logs == nil {
			return pfs.Errorf("jobhttp.logs", "", pfs.Invalid, "the options are missing")
		}
		return c.engine.Logs(ctx, c.user, c.Name, job.LogOptions(*c.Logs), c.w)
	},
	methodKill: func(ctx context.Context, c *call) error {
		return c.engine.Kill(ctx, c.user, c.Name, func(r *job.Record) { _ = reply(c.w, r) }) // a client that has left ends ctx
	},
	methodDelete: func(ctx context.Context, c *call) error { return c.done(c.engine.Delete(ctx, c.user, c.Name)) },
	methodQuota: func(ctx context.Context, c *call) error {
		list, err := c.engine.Quota(ctx, c.user)
		return result(c, list, err)
	},
	methodRegistries: func(ctx context.Context, c *call) error {
		r, err := c.registrar()
		if err != nil {
			return err
		}
		list, err := r.Registries(ctx, c.user)
		return result(c, list, err)
	},
	methodSetRegistry: func(ctx context.Context, c *call) error {
		r, err := c.registrar()
		if err != nil {
			return err
		}
		if c.Registry == nil {
			return pfs.Errorf("jobhttp.setRegistry", "", pfs.Invalid, "the registry is missing")
		}
		if reason := job.CheckName(c.Registry.Name); reason != "" {
			return &job.SpecError{Field: "registry", Value: c.Registry.Name, Text: reason}
		}
		return c.done(r.SetRegistry(ctx, c.user, *c.Registry, c.Password))
	},
	methodDeleteRegistry: func(ctx context.Context, c *call) error {
		r, err := c.registrar()
		if err != nil {
			return err
		}
		return c.done(r.DeleteRegistry(ctx, c.user, c.Name))
	},
}

func (c *call) registrar() (job.Registrar, error) {
	if r, ok := c.engine.(job.Registrar); ok {
		return r, nil
	}
	return nil, pfs.Errorf("jobhttp.registrar", "", pfs.Unsupported, "the engine of the datacenter %q keeps no registries", c.Datacenter)
}

// checkSpec refuses what a user may not submit here.
func (c *call) checkSpec() error {
	const op = "jobhttp.checkSpec"
	switch {
	case c.Spec == nil:
		return pfs.Errorf(op, "", pfs.Invalid, "the spec is missing")
	case c.Spec.User != c.user:
		return pfs.Errorf(op, "", pfs.Permission, "you are %q and cannot submit a job of %q", c.user, c.Spec.User)
	case c.Spec.Datacenter != c.Datacenter:
		return pfs.Errorf(op, "", pfs.Invalid, "the spec is for the datacenter %q, not %q", c.Spec.Datacenter, c.Datacenter)
	case c.Spec.ID == "":
		return pfs.Errorf(op, "", pfs.Invalid, "the spec has no ID")
	}
	return c.Spec.Check()
}

// submit starts a job. The same request again finds the job that it has started.
func (c *call) submit(ctx context.Context) error {
	if err := c.checkSpec(); err != nil {
		return err
	}
	r, err := job.ReadRecord(ctx, c.tree, c.Datacenter, c.user, c.Spec.Name)
	if err == nil && r.Spec.ID != c.Spec.ID {
		return pfs.Errorf("jobhttp.submit", "", pfs.Exist, "there is a job %q, which is %s", c.Spec.Name, r.State)
	}
	if err != nil && !errors.Is(err, pfs.NotExist) {
		return err
	}
	err = c.engine.Submit(ctx, c.Spec)
	if errors.Is(err, pfs.Exist) {
		if r, getErr := c.engine.Job(ctx, c.user, c.Spec.Name); getErr == nil && r.Spec.ID == c.Spec.ID {
			return nil
		}
	}
	return err
}
