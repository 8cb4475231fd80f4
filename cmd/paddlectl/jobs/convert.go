package jobs

import (
	"context"
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/job/jobfile"
	"github.com/urfave/cli/v2"
)

// Convert returns the command convert-job.
func Convert(a *app.App) *cli.Command {
	var to string
	return a.NewCommand(app.Spec{
		Name: "convert-job", Args: "FILE", Least: 1, Most: 1,
		Summary: "translate a job file into another format",
		Text: `Prints the job of FILE in another format. FILE is a job in the YAML of paddlectl, a
PaddleJob of the paddle-operator or of Kubeflow, a Volcano job, or a job of OpenPAI, in
JSON (version 1) or YAML (version 2); its format is recognized by its content. - is
standard input.

Standard error lists the fields that the other format lacks, with line and column, and the
exit code is then 8. Secrets of OpenPAI are not copied. The format kubernetes is plain
Jobs with an index and a Service, which need no operator.`,
		Examples: []string{
			"paddlectl convert-job wide_and_deep.yaml --to volcano > job.yaml",
			"paddlectl convert-job new_job.pai.json --to pfs",
		},
		Exits: []cliio.Code{cliio.NotFound, cliio.Partly},
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "to", Usage: "print it in `FORMAT`: " + strings.Join(jobfile.Formats(), ", "), Value: cliargs.OneOf(&to, jobfile.Formats()...)},
		},
		Run: func(_ context.Context, operands []string) error { return convert(a, operands[0], to) },
	})
}

func convert(a *app.App, name, to string) error {
	if to == "" {
		return cliargs.Usagef("--to FORMAT is needed: %s", strings.Join(jobfile.Formats(), ", "))
	}
	f, err := readJobFile(a, name)
	if err != nil {
		return err
	}
	j, left, err := f.Job()
	if err != nil {
		return f.Mistakes(err)
	}
	text, more, err := j.Write(jobfile.Format(to))
	if err != nil {
		return err
	}
	a.Printf("%s", text)
	for _, l := range append(left, more...) {
		fmt.Fprintln(a.Stderr, l)
	}
	if len(left)+len(more) > 0 {
		return cliio.Reported(cliio.Partly)
	}
	return nil
}
