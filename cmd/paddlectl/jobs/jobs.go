// Package jobs has the commands of paddlectl for training jobs: submit, check, convert-job, get, describe, logs,
// kill, delete, wait and registry.
package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/localjobs"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/jobhttp"
	"github.com/paddlecloud/pfs/internal/job/local"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// session is one datacenter with its engine.
type session struct {
	*app.App
	fs     pfs.FileSystem // the tree of the service, as the user sees it
	user   string
	dc     string // the name that the service has for the datacenter
	entry  string // the name that the configuration has for the service
	alias  string // the name that the configuration has for it
	engine job.Engine
	kind   string // the name of the engine
	away   error  // why the service does not answer; only jobs of this machine are known then
}

// datacenterFlag returns the flag --datacenter.
func datacenterFlag(to *string) cli.Flag {
	return &cli.StringFlag{Name: "datacenter", Usage: "use the datacenter `DC`", DefaultText: "the current one", Destination: to}
}

// open connects to the datacenter called name, or to the current one if name is empty. With json, failures are printed
// as JSON, too.
func open(ctx context.Context, a *app.App, name string, json bool) (*session, error) {
	a.ReportEvents(json)
	s, conn, err := begin(ctx, a, name)
	if err != nil {
		return nil, err
	}
	return s, s.ask(ctx, conn)
}

// openFor connects to the datacenter of the jobs, or of all if there are none. Those of this machine do not need the service.
func openFor(ctx context.Context, a *app.App, name string, json bool, jobs ...string) (*session, error) {
	a.ReportEvents(json)
	s, conn, err := begin(ctx, a, name)
	if err != nil {
		return nil, err
	}
	if len(jobs) > 0 {
		if known, err := s.here(ctx, jobs); known || err != nil {
			return s, err
		}
	}
	away := s.ask(ctx, conn)
	if len(jobs) == 0 && errors.Is(away, pfs.Unavailable) {
		s.away = away
		if known, err := s.here(ctx, nil); known || err != nil {
			return s, err
		}
	}
	return s, away
}

// here makes the engine of this machine that of the session if it has all the jobs; any, if there are none.
func (s *session) here(ctx context.Context, jobs []string) (known bool, err error) {
	dc, err := localjobs.Datacenter(s.App, s.alias, s.user, jobs)
	if err != nil || dc == "" {
		return false, err
	}
	s.dc, s.kind = dc, local.Name
	s.engine, err = localjobs.Engine(ctx, s.App, s.alias, dc)
	return err == nil, err
}

// begin makes a session, which does not know its engine yet.
func begin(ctx context.Context, a *app.App, name string) (*session, app.Connection, error) {
	at := app.Top
	if name != "" {
		if reason := pfs.CheckName(name); reason != "" {
			return nil, nil, cliargs.Usagef("--datacenter %q: %s", name, reason)
		}
		at = at.Join(name)
	}
	conn, err := a.Remotes.At(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	s := &session{App: a, fs: conn.FS, user: conn.Entry.Username, entry: conn.Entry.Name, alias: cmp.Or(name, conn.Entry.Name)}
	if reason := pfs.CheckName(s.user); reason != "" {
		return nil, nil, pfs.Errorf("paddlectl.jobs", "", pfs.Unauthenticated, "the user name %q of datacenter %q: %s", s.user, conn.Entry.Name, reason)
	}
	return s, conn, nil
}

// ask asks the service for the datacenter and its engine.
func (s *session) ask(ctx context.Context, conn app.Connection) (err error) {
	s.dc, s.kind = s.alias, local.Name
	if conn.Client != nil {
		info, err := conn.Client.Service(ctx)
		if err != nil {
			return err
		}
		switch {
		case slices.Contains(info.Datacenters, s.alias):
		case s.alias == conn.Entry.Name:
			s.dc = info.Current
		default:
			return pfs.Errorf("paddlectl.jobs", "", pfs.NotExist, "there is no datacenter %q: the service has %s", s.alias, strings.Join(info.Datacenters, ", "))
		}
		kind, err := jobhttp.Engine(ctx, conn.Client, s.dc)
		if err != nil {
			return err
		}
		if kind != "" {
			s.kind, s.engine = kind, jobhttp.NewClient(conn.Client, s.dc)
			return nil
		}
	}
	s.engine, err = localjobs.Engine(ctx, s.App, s.alias, s.dc)
	return err
}

// ownName returns p with the service's name of the datacenter.
func (s *session) ownName(p pfs.Path) pfs.Path {
	if alias := app.Top.Join(s.alias); p.Within(alias) {
		return p.Rebase(alias, app.Top.Join(s.dc))
	}
	return p
}

// job returns the record of a job, from the engine or, failing that, from the store. known is true if the
// engine has it.
func (s *session) job(ctx context.Context, name string) (r *job.Record, known bool, err error) {
	if reason := job.CheckName(name); reason != "" {
		return nil, false, cliargs.Usagef("the name %q: %s", name, reason)
	}
	r, err = s.engine.Job(ctx, s.user, name)
	if err == nil || !errors.Is(err, pfs.NotExist) {
		return r, err == nil, err
	}
	r, err = job.ReadRecord(ctx, s.fs, s.dc, s.user, name)
	if errors.Is(err, pfs.NotExist) {
		err = app.WithHint(pfs.Errorf("paddlectl.jobs", "", pfs.NotExist, "there is no job %q in datacenter %q", name, s.dc), s.Paddlectl+" get jobs -a lists all jobs")
	}
	return r, false, err
}

// all returns the records of jobs, sorted by their start: those that the engine knows, and those that only
// the store has; of these, ended ones only with old. damaged is what could not be read.
func (s *session) all(ctx context.Context, old bool) (list []job.Record, damaged []error, err error) {
	known, err := s.engine.Jobs(ctx, s.user)
	if err != nil {
		return nil, nil, err
	}
	names := map[string]bool{}
	for _, r := range known {
		names[r.Spec.Name] = true
	}
	list = known
	if s.away != nil {
		return list, []error{s.away}, nil
	}
	for r, err := range job.Records(ctx, s.fs, s.dc, s.user) {
		switch {
		case err != nil && app.Hopeless(ctx, err):
			return nil, nil, err
		case err != nil:
			damaged = append(damaged, err)
		case !names[r.Spec.Name] && (old || !r.State.Ended()):
			list = append(list, *r)
		}
	}
	slices.SortStableFunc(list, func(a, b job.Record) int {
		return cmp.Or(a.Submitted.Compare(b.Submitted), strings.Compare(a.Spec.Name, b.Spec.Name))
	})
	return list, damaged, nil
}

// refusal is the error of a command that the state of a job does not allow. Its Kind is Conflict.
type refusal string

func (r refusal) Error() string { return string(r) }

// Unwrap makes pfs.KindOf return Conflict.
func (r refusal) Unwrap() error { return pfs.Conflict }

// elsewhere returns the error about a job that another machine carries out.
func (s *session) elsewhere(r *job.Record, do string) error {
	if r.Host == host() {
		return app.WithHint(refusal(fmt.Sprintf("the job %q runs on this machine, and its state is in another directory", r.Spec.Name)),
			fmt.Sprintf("as the user and with the $XDG_STATE_HOME of the submit: %s %s %s; if its state is gone: %s delete --force %s", s.Paddlectl, do, r.Spec.Name, s.Paddlectl, r.Spec.Name))
	}
	return app.WithHint(
		refusal(fmt.Sprintf("the job %q runs on the machine %s, and only that can %s it", r.Spec.Name, r.Host, do)),
		fmt.Sprintf("on %s: %s %s %s; if that machine is gone: %s delete --force %s", r.Host, s.Paddlectl, do, r.Spec.Name, s.Paddlectl, r.Spec.Name))
}

// reason returns why a job waits or has failed.
func reason(r *job.Record) string {
	if r.Reason == "" && r.State == job.Submitting {
		return "the package is being uploaded"
	}
	return r.Reason
}

// exits are the exit codes of commands on one job.
func exits(more ...cliio.Code) []cliio.Code {
	return app.RemoteExits(append(more, cliio.NotFound, cliio.Exists)...)
}

// host is the name of this machine.
func host() string {
	name, _ := os.Hostname()
	return name
}
