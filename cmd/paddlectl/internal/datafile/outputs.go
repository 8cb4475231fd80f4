package datafile

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/copying"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// NewOutputs returns a set of output files made from inputs, which it must not replace.
func NewOutputs(ctx context.Context, a *app.App, force bool, inputs []recordfile.File) *transfer.Outputs {
	same := SameFile(a)
	return transfer.NewOutputs(ctx, transfer.OutputOptions{
		Force:  force,
		Stdout: a.Out,
		Reads: func(ctx context.Context, e transfer.End) (string, bool) {
			for _, in := range inputs {
				if in.LeadsTo(ctx, e) || same(ctx, in, e) {
					return in.Title, true
				}
			}
			return "", false
		},
		Explain: func(title string, e transfer.End, err error) error {
			return HintAt(ctx, a, copying.Target{Text: title, End: e}, WithHint(a, err))
		},
	})
}

// HintAt adds the hint to an error about a missing parent of a target.
func HintAt(ctx context.Context, a *app.App, to copying.Target, err error) error {
	if err == nil || errors.As(err, new(app.Hinted)) {
		return err
	}
	return (&copying.Copier{App: a, O: &copying.Options{}, To: to}).Hint(ctx, err)
}

// OutputEnd parses the operand of one output file; "-" gives a zero End.
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
		return t.End, cliargs.Usagef("%q is a directory: name a file", text)
	}
	return t.End, nil
}

// OutputDir parses the operand of an output directory and creates it if it is missing. Its parent
// must exist.
func OutputDir(ctx context.Context, a *app.App, text string) (transfer.End, error) {
	t, err := LookAtDir(ctx, a, text)
	if err == nil {
		err = makeDir(ctx, a, t)
	}
	return t.End, err
}

// makeDir creates the directory t if it is missing.
func makeDir(ctx context.Context, a *app.App, t copying.Target) error {
	if t.Exists {
		return nil
	}
	return (&copying.Copier{App: a, O: &copying.Options{}, To: t}).Hint(ctx, t.End.FS.Mkdir(ctx, t.End.Path, 0o755))
}

// LookAtDir is OutputDir without creating the directory.
func LookAtDir(ctx context.Context, a *app.App, text string) (copying.Target, error) {
	op, err := a.ParseOperand(text)
	if err == nil && op.Side == app.Stdio {
		err = cliargs.Usagef("\"-\" is not a directory: several files need one")
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
