package datafile

import (
	"context"
	"errors"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/copying"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// NewOutputs begins a set of files that is made from inputs, which it must not replace.
func NewOutputs(ctx context.Context, a *app.App, force bool, inputs []File) *transfer.Outputs {
	return transfer.NewOutputs(ctx, OutputOptions(ctx, a, force, inputs))
}

func OutputOptions(ctx context.Context, a *app.App, force bool, inputs []File) transfer.OutputOptions {
	return transfer.OutputOptions{
		Force:  force,
		Stdout: a.Out,
		Reads: func(ctx context.Context, e transfer.End) (string, bool) {
			for _, in := range inputs {
				if in.SameFile(ctx, e) {
					return in.Text, true
				}
			}
			return "", false
		},
		Explain: func(title string, e transfer.End, err error) error {
			switch {
			case errors.Is(err, transfer.ErrNotReplaced):
				return app.WithHint(err, "--force replaces files that exist")
			case errors.Is(err, transfer.ErrNotRegular):
				return app.WithHint(err, "use - and let the shell lead standard output there")
			}
			return (&copying.Copier{App: a, O: &copying.Options{}, To: copying.Target{Text: title, End: e}}).Hint(ctx, err)
		},
	}
}

// OutputEnd reads the operand of one output file; "-" gives a zero End.
func OutputEnd(ctx context.Context, a *app.App, text string) (transfer.End, error) {
	op, err := a.ParseOperand(text)
	if err != nil || op.Side == app.Stdio {
		return transfer.End{}, err
	}
	t, err := copying.LookAt(ctx, a, op, false)
	switch {
	case err != nil:
		return t.End, err
	case t.IsDir || t.Slash:
		return t.End, cliargs.Usagef("%q is a directory: the name of a file is needed", text)
	}
	return t.End, nil
}

// OutputDir reads the operand of a directory for outputs and makes it if it is
// missing; what is above it must be there.
func OutputDir(ctx context.Context, a *app.App, text string) (transfer.End, error) {
	t, err := LookAtDir(ctx, a, text)
	if err == nil {
		err = MakeDir(ctx, a, t)
	}
	return t.End, err
}

// MakeDir makes the directory t if it is missing.
func MakeDir(ctx context.Context, a *app.App, t copying.Target) error {
	if t.Exists {
		return nil
	}
	return (&copying.Copier{App: a, O: &copying.Options{}, To: t}).Hint(ctx, t.End.FS.Mkdir(ctx, t.End.Path, 0o755))
}

// LookAtDir is outputDir that makes nothing.
func LookAtDir(ctx context.Context, a *app.App, text string) (copying.Target, error) {
	op, err := a.ParseOperand(text)
	if err == nil && op.Side == app.Stdio {
		err = cliargs.Usagef("\"-\" is no directory: several files need one")
	}
	if err != nil {
		return copying.Target{}, err
	}
	t, err := copying.LookAt(ctx, a, op, false)
	if err == nil && t.Exists && !t.IsDir {
		err = pfs.Errorf("paddlectl.outputDir", t.End.Path, pfs.NotDir, "several files need a directory")
	}
	return t, err
}

// CleanUpTime bounds the removal of what is left of a set that failed.
const CleanUpTime = 30 * time.Second
