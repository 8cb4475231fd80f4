package jobhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// Transport sends a request to a service. pfs/client has one.
type Transport interface {
	// Extension writes the answer to the writer that begin returns. It calls begin again if it repeats the request.
	Extension(ctx context.Context, method string, request []byte, begin func() io.Writer) error
}

// Client is the engine of a datacenter on a service. The service authenticates the user, so the user
// arguments of the methods are ignored.
type Client struct {
	t          Transport
	datacenter string
}

var (
	_ job.Engine    = (*Client)(nil)
	_ job.Registrar = (*Client)(nil)
)

// Engine returns the name of the engine of a datacenter, empty if it has none, as on services without
// jobs.
func Engine(ctx context.Context, t Transport, datacenter string) (string, error) {
	reply, err := ask[engineReply](ctx, t, methodEngine, request{Datacenter: datacenter})
	if errors.Is(err, pfs.Unsupported) {
		return "", nil
	}
	return reply.Engine, err
}

// NewClient returns the engine of a datacenter.
func NewClient(t Transport, datacenter string) *Client { return &Client{t, datacenter} }

// send sends q and writes the answer to what begin returns.
func send(ctx context.Context, t Transport, method string, q request, begin func() io.Writer) error {
	b, err := json.Marshal(q)
	if err != nil {
		return err
	}
	return t.Extension(ctx, method, b, begin)
}

// ask sends q and returns the answer, one JSON value.
func ask[A any](ctx context.Context, t Transport, method string, q request) (reply A, err error) {
	var b bytes.Buffer
	err = send(ctx, t, method, q, func() io.Writer {
		b.Reset()
		return &b
	})
	if err == nil {
		if err = json.Unmarshal(b.Bytes(), &reply); err != nil {
			err = pfs.Errorf("jobhttp.ask", "", pfs.Other, "the answer of the service: %w", err)
		}
	}
	return reply, err
}

func (c *Client) request(name string) request { return request{Datacenter: c.datacenter, Name: name} }

// Plan is Engine.Plan.
func (c *Client) Plan(ctx context.Context, spec *job.Spec) ([]json.RawMessage, error) {
	return ask[[]json.RawMessage](ctx, c.t, methodPlan, request{Datacenter: c.datacenter, Spec: spec})
}

// Submit is Engine.Submit. A repeated request for the same Spec.ID succeeds.
func (c *Client) Submit(ctx context.Context, spec *job.Spec) error {
	_, err := ask[struct{}](ctx, c.t, methodSubmit, request{Datacenter: c.datacenter, Spec: spec})
	return err
}

// Jobs is Engine.Jobs.
func (c *Client) Jobs(ctx context.Context, _ string) ([]job.Record, error) {
	return ask[[]job.Record](ctx, c.t, methodJobs, c.request(""))
}

// Job is Engine.Job.
func (c *Client) Job(ctx context.Context, _, name string) (*job.Record, error) {
	return ask[*job.Record](ctx, c.t, methodJob, c.request(name))
}

// Logs is Engine.Logs. When the answer is cut off, it asks again and skips the lines that it has written.
func (c *Client) Logs(ctx context.Context, _, name string, opts job.LogOptions, w io.Writer) error {
	q := c.request(name)
	q.Logs = (*logOptions)(&opts)
	seen := map[string]*job.LogSeen{} // by worker: the lines that were written
	return send(ctx, c.t, methodLogs, q, func() io.Writer {
		skip := map[string]func(job.LogLine) bool{}
		for worker, lines := range seen {
			skip[worker] = lines.Skip()
		}
		return &lines{each: func(line []byte) error {
			if worker, l, ok := job.ParseWorkerLine(line); ok {
				if skip := skip[worker]; skip != nil && skip(l) {
					return nil
				}
				if seen[worker] == nil {
					seen[worker] = &job.LogSeen{}
				}
				seen[worker].Add(l)
			}
			_, err := w.Write(append(line, '\n'))
			return err
		}}
	})
}

// Kill is Engine.Kill.
func (c *Client) Kill(ctx context.Context, _, name string, tell func(*job.Record)) error {
	return send(ctx, c.t, methodKill, c.request(name), func() io.Writer {
		return &lines{each: func(line []byte) error {
			r := &job.Record{}
			if err := json.Unmarshal(line, r); err != nil {
				return pfs.Errorf("jobhttp.Kill", "", pfs.Other, "the answer of the service: %w", err)
			}
			tell(r)
			return nil
		}}
	})
}

// Delete is Engine.Delete.
func (c *Client) Delete(ctx context.Context, _, name string) error {
	_, err := ask[struct{}](ctx, c.t, methodDelete, c.request(name))
	return err
}

// Quota is Engine.Quota.
func (c *Client) Quota(ctx context.Context, _ string) ([]job.Quota, error) {
	return ask[[]job.Quota](ctx, c.t, methodQuota, c.request(""))
}

// Registries is Registrar.Registries.
func (c *Client) Registries(ctx context.Context, _ string) ([]job.Registry, error) {
	return ask[[]job.Registry](ctx, c.t, methodRegistries, c.request(""))
}

// SetRegistry is Registrar.SetRegistry.
func (c *Client) SetRegistry(ctx context.Context, _ string, r job.Registry, password string) error {
	q := c.request("")
	q.Registry, q.Password = &r, password
	_, err := ask[struct{}](ctx, c.t, methodSetRegistry, q)
	return err
}

// DeleteRegistry is Registrar.DeleteRegistry.
func (c *Client) DeleteRegistry(ctx context.Context, _, name string) error {
	_, err := ask[struct{}](ctx, c.t, methodDeleteRegistry, c.request(name))
	return err
}

// lines calls each for every whole line that is written.
type lines struct {
	each func(line []byte) error
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		if err := l.each(l.rest[:i:i]); err != nil {
			return 0, err
		}
		l.rest = l.rest[i+1:]
	}
}
