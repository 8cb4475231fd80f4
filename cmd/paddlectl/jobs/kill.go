package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/output"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/urfave/cli/v2"
)

// Kill returns the command kill.
func Kill(a *app.App) *cli.Command {
	var datacenter string
	var remove, quiet, json bool
	return a.NewCommand(app.Spec{
		Name: "kill", Args: "NAME...", Least: 1, Most: -1,
		Summary: "stop a job; -rm removes it from the history",
		Text: `Ends jobs. Their programs get SIGTERM and may save their state, and their outputs are
uploaded. kill shows the progress, and returns when no process of the job runs any more.
Its name can then be used again after -rm or paddlectl delete. The outputs stay. kill
fails if a part of the job is left.`,
		Examples: []string{"paddlectl kill fit", "paddlectl kill -rm fit"},
		Exits:    exits(cliio.Partly),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "rm", Usage: "then remove the record, as paddlectl delete does", Destination: &remove},
			datacenterFlag(&datacenter),
			app.QuietFlag(&quiet),
			app.JSONFlag(&json),
		},
		Run: func(ctx context.Context, operands []string) error {
			s, err := openFor(ctx, a, datacenter, json, operands...)
			if err != nil {
				return err
			}
			return app.EachOf(ctx, a, operands, func(name string) error {
				r, err := s.kill(ctx, name, quiet || json)
				if err == nil && remove {
					err = s.delete(ctx, name, false)
				}
				if err == nil && json {
					err = s.JSON(r)
				}
				return err
			})
		},
	})
}

// kill ends a job, and returns its last record.
func (s *session) kill(ctx context.Context, name string, quiet bool) (*job.Record, error) {
	r, known, err := s.job(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case !known && r.State == job.Submitting:
		return nil, app.WithHint(refusal(fmt.Sprintf("the job %q is being submitted and does not run yet", name)),
			"wait for the submit; if it was interrupted: "+s.Paddlectl+" delete "+name)
	case r.State.Ended():
		if !quiet {
			s.Message("%s is already %s", name, r.State)
		}
		return r, nil
	case !known && r.Host != "":
		return nil, s.elsewhere(r, "kill")
	}
	said := map[string]job.State{}
	err = s.engine.Kill(ctx, s.user, name, func(now *job.Record) {
		r = now
		for _, w := range r.Workers {
			if said[w.Name] != w.State && !quiet {
				said[w.Name] = w.State
				s.Message("%s: %s is %s", name, w.Name, w.State)
			}
		}
	})
	if err == nil && !quiet {
		s.Message("%s has ended", name)
	}
	return r, err
}

// Delete returns the command delete.
func Delete(a *app.App) *cli.Command {
	var datacenter string
	var force, json bool
	return a.NewCommand(app.Spec{
		Name: "delete", Args: "NAME...", Least: 1, Most: -1,
		Summary: "remove the record of an ended job, or a registry",
		Text: `Removes the records and the logs of ended jobs, so that their names can be used again.
Outputs and packages stay: remove them with paddlectl rm. --force also removes the record of
a job whose machine is gone; it ends no process.`,
		Examples: []string{"paddlectl delete fit", "paddlectl delete registry hub"},
		Exits:    exits(cliio.Partly),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Usage: "remove the record of a job on another machine that has not ended", Destination: &force},
			datacenterFlag(&datacenter),
			app.JSONFlag(&json),
		},
		Run: func(ctx context.Context, operands []string) error {
			s, err := openFor(ctx, a, datacenter, json, operands...)
			if err != nil {
				return err
			}
			return app.EachOf(ctx, a, operands, func(name string) error {
				err := s.delete(ctx, name, force)
				if err == nil && json {
					err = s.JSON(deleted{"deleted", name})
				}
				return err
			})
		},
		Subs: []*cli.Command{deleteRegistry(a)},
	})
}

// deleted is an event of delete.
type deleted struct {
	Event string `json:"event"`
	Name  string `json:"name"`
}

func (s *session) delete(ctx context.Context, name string, force bool) error {
	r, known, err := s.job(ctx, name)
	switch {
	case err != nil && force && pfs.KindOf(err) == pfs.Integrity:
		// A damaged record.
	case err != nil:
		return err
	case !r.State.Ended() && (known || r.Host == "" && r.State != job.Submitting):
		return app.WithHint(refusal(fmt.Sprintf("the job %q is %s", name, r.State)), s.Paddlectl+" kill "+name+" ends it")
	case !known && !r.State.Ended() && r.State != job.Submitting && !force:
		return s.elsewhere(r, "kill")
	}
	engine := s.engine
	if !known {
		engine = nil
	}
	return job.Delete(ctx, s.fs, engine, s.dc, s.user, name)
}

// Wait returns the command wait.
func Wait(a *app.App) *cli.Command {
	var datacenter string
	var json bool
	var timeout cliio.DurationFlag
	return a.NewCommand(app.Spec{
		Name: "wait", Args: "NAME...", Least: 1, Most: -1,
		Summary: "wait until jobs have ended",
		Text: `Waits until the jobs have ended. The exit code is 0 only if all have succeeded and their
outputs are committed, 8 if a job succeeded without committed outputs, and 1 if one failed
or was killed. If several jobs end differently, it is 8. After --timeout it is 6, and the
jobs continue.`,
		Examples: []string{"paddlectl wait fit && paddlectl cp -r /pfs/dc1/home/alice/jobs/fit/attempts/1 ."},
		Exits:    exits(cliio.Partly),
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "timeout", Usage: "wait at most `DURATION`", DefaultText: "no limit", Value: &timeout},
			datacenterFlag(&datacenter),
			app.JSONFlag(&json),
		},
		Run: func(ctx context.Context, operands []string) error {
			most := timeout.Duration
			if most > 0 {
				var cancel func()
				ctx, cancel = context.WithTimeoutCause(ctx, most, errTimeout)
				defer cancel()
			}
			s, err := openFor(ctx, a, datacenter, json, operands...)
			if err != nil {
				return late(ctx, err, most)
			}
			return s.wait(ctx, operands, most, json)
		},
	})
}

// wait waits until the jobs have ended. ctx ends after most, with errTimeout, if most is not 0.
func (s *session) wait(ctx context.Context, names []string, most time.Duration, json bool) error {
	return app.EachOf(ctx, s.App, names, func(name string) error {
		r, err := s.ended(ctx, name)
		if err != nil && context.Cause(ctx) == errTimeout {
			return pfs.Errorf("paddlectl.wait", "", pfs.Unavailable, "the job %q has not ended within %v", name, most)
		}
		if err != nil {
			return err
		}
		return late(ctx, s.verdict(ctx, r, json), most)
	})
}

var errTimeout = errors.New("the time is over")

// late returns err, or that the service has not answered within most if that is the cause.
func late(ctx context.Context, err error, most time.Duration) error {
	if err != nil && context.Cause(ctx) == errTimeout {
		return pfs.Errorf("paddlectl.wait", "", pfs.Unavailable, "the service has not answered within %v", most)
	}
	return err
}

// ended waits until a job has ended. An engine that is unavailable is asked again.
func (s *session) ended(ctx context.Context, name string) (*job.Record, error) {
	for {
		r, _, err := s.job(ctx, name)
		if err != nil || r.State.Ended() {
			return r, err
		}
		if err := retry.Sleep(ctx, every); err != nil {
			return nil, err
		}
	}
}

// verdict prints how a job ended, and returns the error that decides the exit code of wait.
func (s *session) verdict(ctx context.Context, r *job.Record, json bool) error {
	name := r.Spec.Name
	if json {
		if err := s.JSON(r); err != nil {
			return err
		}
	}
	if r.State != job.Succeeded {
		return fmt.Errorf("the job %q is %s: %s", name, r.State, cmp.Or(reason(r), "no reason is known"))
	}
	dir := job.Dir(s.dc, s.user, name).Join("attempts").Join(strconv.Itoa(r.Attempt))
	committed, err := output.Committed(ctx, s.fs, dir)
	if err != nil {
		return err
	}
	if !committed {
		s.Message("the job %q succeeded, and its outputs are not committed: %s get outputs %s", name, s.Paddlectl, name)
		return cliio.Reported(cliio.Partly)
	}
	if !json {
		s.Printf("%s %s\n", name, r.State)
	}
	return nil
}

// Describe returns the command describe.
func Describe(a *app.App) *cli.Command {
	var datacenter string
	var json bool
	return a.NewCommand(app.Spec{
		Name: "describe", Args: "NAME...", Least: 1, Most: -1,
		Summary:  "show all that is known of a job",
		Text:     `Shows the specification of jobs, their state and that of their workers, and the places of their files.`,
		Examples: []string{"paddlectl describe fit"},
		Exits:    exits(cliio.Partly),
		Flags:    []cli.Flag{datacenterFlag(&datacenter), app.JSONFlag(&json)},
		Run: func(ctx context.Context, operands []string) error {
			s, err := openFor(ctx, a, datacenter, json, operands...)
			if err != nil {
				return err
			}
			return app.EachOf(ctx, a, operands, func(name string) error {
				r, _, err := s.job(ctx, name)
				if err != nil {
					return err
				}
				if json {
					return s.JSON(r)
				}
				return s.describe(r)
			})
		},
	})
}

func (s *session) describe(r *job.Record) error {
	spec := &r.Spec
	rows := [][]string{}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name + ":", cliio.Escape(value)})
		}
	}
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return clock(t)
	}
	add("Name", spec.Name)
	add("User", spec.User)
	add("Datacenter", spec.Datacenter)
	add("State", string(r.State))
	add("Reason", reason(r))
	add("Engine", r.Engine)
	add("Machine", r.Host)
	add("Submitted", at(r.Submitted))
	add("Started", at(r.Started))
	add("Ended", at(r.Ended))
	add("Attempt", fmt.Sprintf("%d of at most %d, restart: %s", r.Attempt, spec.MaxAttempts, spec.Restart))
	add("Package", string(spec.Package))
	add("Entry", spec.Entry)
	add("Topology", spec.Topology)
	add("Image", spec.Image)
	add("Registry", spec.Registry)
	add("Passes", strconv.Itoa(spec.Passes))
	if spec.TimeLimit > 0 {
		add("Time limit", spec.TimeLimit.String())
	}
	add("Upload wait", spec.UploadWait.String())
	for _, role := range spec.Roles {
		name := strings.ToUpper(role.Name[:1]) + role.Name[1:] + "s"
		if spec.PAI != nil {
			name = role.Name
		}
		add(name, fmt.Sprintf("%d, each with %s CPU, %d GPU, %s memory", role.Replicas, job.FormatCPU(role.CPU), role.GPU, job.FormatMemory(role.Memory)))
	}
	for _, p := range spec.Inputs {
		add("Input", string(p))
	}
	for _, dir := range spec.Outputs {
		add("Output", dir)
	}
	if r.Attempt > 0 {
		add("Outputs", string(job.Dir(spec.Datacenter, spec.User, spec.Name))+"/attempts/"+strconv.Itoa(r.Attempt))
	}
	if err := table(s.Out, rows); err != nil || len(r.Workers) == 0 {
		return err
	}
	s.Printf("\n")
	return s.printWorkers(&getOptions{}, []job.Record{*r}, true)
}

// checkAttempt refuses a wrong number of an attempt.
func checkAttempt(n int) error {
	if n < 0 {
		return cliargs.Usagef("--attempt %d: a number from 1 up is needed", n)
	}
	return nil
}
