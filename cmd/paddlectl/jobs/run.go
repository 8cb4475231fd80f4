package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/localjobs"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/jobfile"
	"github.com/paddlecloud/pfs/internal/job/local"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// Run returns the command run.
func Run(a *app.App) *cli.Command {
	o := &submitOptions{}
	return a.NewCommand(app.Spec{
		Name: "run", Args: "PACKAGE", Most: 1,
		Summary: "run a job on this machine, from its inputs to its outputs",
		Text: `Runs a job on this machine, or in this container, in the foreground: copies and verifies the
inputs ($PFS_INPUTS), runs the command in the package, prints its log, and uploads and
commits the files in $PFS_OUTPUT. The first interrupt, or SIGTERM, ends the program; its
outputs are still uploaded.

The exit code is that of the program. If that is 0 and outputs are missing, it is 8.
Without -jobname, the name is run- and the time. paddlectl get outputs shows the outputs.`,
		Examples: []string{`paddlectl run --input /pfs/dc1/home/alice/data -entry "./train.sh" ./package`},
		Exits:    exits(cliio.Integrity, cliio.Partly),
		Flags:    append(fieldFlags(&o.settings), app.QuietFlag(&o.quiet)),
		Run: func(ctx context.Context, operands []string) error {
			d := jobfile.NewDraft()
			d.Spec.Name = "run-" + time.Now().UTC().Format("20060102-150405")
			s, sub, err := o.prepare(ctx, a, d, operands)
			if err != nil {
				return err
			}
			if s.kind != local.Name { // of the service
				if s.engine, err = localjobs.Engine(ctx, a, s.alias, s.dc); err != nil {
					return err
				}
				s.kind, sub.Engine, sub.Kind = local.Name, s.engine, local.Name
			}
			if err := sub.Submit(ctx); err != nil {
				return s.explain(err, "")
			}
			return s.attend(ctx, sub.Spec.Name)
		},
	})
}

// attend prints the logs of a job until it has ended. If ctx ends first, it ends the job, and prints what the programs
// write until their end. The error has the exit code of the program.
func (s *session) attend(ctx context.Context, name string) error {
	following, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	killed := make(chan error, 1)
	spared := context.AfterFunc(ctx, func() {
		_, err := s.kill(following, name, true)
		if err != nil {
			leave()
		}
		killed <- err
	})
	err := s.followLogs(following, name, false)
	if !spared() {
		return errors.Join(pfs.CheckContext(ctx, "paddlectl.run", ""), <-killed)
	}
	if err != nil {
		return err
	}
	r, err := s.ended(ctx, name)
	if err != nil {
		return err
	}
	if err = s.verdict(ctx, r, false); err == nil {
		return nil
	}
	missing := r.State == job.Failed && len(r.Workers) > 0
	for _, w := range r.Workers {
		if w.State == job.Failed && w.ExitCode != nil && *w.ExitCode != 0 {
			s.ReportFailure(err)
			return cliio.Reported(*w.ExitCode)
		}
		missing = missing && (r.Spec.Serves(w.Role) || w.ExitCode != nil && *w.ExitCode == 0)
	}
	if missing { // the programs did not fail, so outputs are missing
		s.ReportFailure(err)
		return cliio.Reported(cliio.Partly)
	}
	return err
}
