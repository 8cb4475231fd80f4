package files

import (
	"context"
	"slices"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/copying"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

// Cp returns the command cp.
func Cp(a *app.App) *cli.Command {
	o := &copying.Options{}
	return a.NewCommand(app.Spec{
		Name: "cp", Args: "SRC... DEST", Least: 2, Most: -1,
		Summary: "upload or download files",
		Text: `Copies files and, with --recursive, directories: to the service, from it, inside
it, and from one datacenter to another. Paths that begin with /pfs/ are on the
service, all others on this machine; "-" is standard input or output.

  - A file becomes DEST, or DEST/NAME if DEST is a directory or ends in a slash.
  - A directory SRC/, with a slash at the end: its content goes into DEST.
  - A directory SRC, without one, becomes DEST/NAME, whether DEST exists or not.

With several sources or a quoted pattern, DEST must be a directory or end in a slash. A
DEST that ends in a slash is made with all its missing parents, except a home. Otherwise
only the last element of DEST is made.

Every byte is verified. A file that is at its target already, with the same digest, is
not copied again. A file appears at its target only when it is complete. To resume an
interrupted copy, run the same command again.`,
		Examples: []string{
			"paddlectl cp model.bin /pfs/dc1/home/alice/",
			"paddlectl cp -r ./data/ /pfs/dc1/home/alice/sets/data/",
			"paddlectl cp -r '/pfs/dc1/home/alice/out/*' ./results/",
			"tar c . | paddlectl cp - /pfs/dc1/home/alice/backup.tar",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "recursive", Aliases: []string{"r", "R"}, Usage: "copy directories and all their content", Destination: &o.Recursive},
			o.Asking.ForceFlag("replace files that exist (the default)"),
			o.Asking.InteractiveFlag("ask before a file is replaced by another"),
		}, o.Flags()...),
		Run: func(ctx context.Context, operands []string) error {
			return copying.Summed(a, o, runCp(ctx, a, o, operands))
		},
	})
}

func runCp(ctx context.Context, a *app.App, o *copying.Options, operands []string) error {
	ctx = o.Budget(ctx, a)
	ops, err := copying.Begin(a, o, operands)
	if err == nil {
		err = o.Asking.Check(o.NoClobber)
	}
	if err != nil {
		return err
	}
	from, to := ops[:len(ops)-1], ops[len(ops)-1]
	fromInput := slices.ContainsFunc(from, func(op app.Operand) bool { return op.Side == app.Stdio })
	switch {
	case fromInput && to.Side == app.Stdio:
		return cliargs.Usagef("\"-\" as SRC and as DEST would copy standard input to standard output: one of them must be a file")
	case fromInput && len(from) > 1:
		return cliargs.Usagef("\"-\" must be the only SRC: standard input cannot be copied together with files")
	case fromInput && o.Asking.Interactive:
		return cliargs.Usagef("--interactive reads answers from standard input, which is SRC here")
	case fromInput:
		return copyFromInput(ctx, a, o, to)
	case to.Side == app.Stdio:
		return copyToOutput(ctx, a, o, from)
	}
	return copying.CopyAll(ctx, a, o, from, to)
}

// copyToOutput writes files to standard output.
func copyToOutput(ctx context.Context, a *app.App, o *copying.Options, from []app.Operand) error {
	if o.JSON || o.DryRun {
		return cliargs.Usagef("--json and --dry-run cannot be used when the file goes to standard output")
	}
	return copying.Run(ctx, a, o, nil, func(ctx context.Context, job *transfer.Job) error {
		for s, err := range copying.Sources(ctx, a, from, o) {
			if err != nil {
				return err
			}
			if _, err := job.ToWriter(ctx, s.End, a.Out, 0, -1); err != nil {
				return err
			}
		}
		return nil
	})
}

// copyFromInput writes standard input to a file.
func copyFromInput(ctx context.Context, a *app.App, o *copying.Options, to app.Operand) error {
	t, err := copying.LookAt(ctx, a, to, false)
	switch {
	case err != nil:
		return err
	case o.DryRun:
		return cliargs.Usagef("--dry-run cannot tell what standard input holds")
	case t.IsDir || t.Slash:
		return cliargs.Usagef("%q is a directory: standard input has no name, so DEST must name a file", to.Text)
	}
	c := &copying.Copier{App: a, O: o, To: t}
	return copying.Run(ctx, a, o, c, func(ctx context.Context, job *transfer.Job) error {
		_, err := job.FromReader(ctx, t.End, a.Main.Stdin, pfs.CommitOptions{NoReplace: o.NoClobber})
		return c.Hint(ctx, err)
	})
}
