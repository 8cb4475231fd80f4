package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// newOutputs begins a set of files that is made from inputs, which it must not replace.
func (d *deps) newOutputs(ctx context.Context, force bool, inputs []dataFile) *transfer.Outputs {
	return transfer.NewOutputs(ctx, d.outputOptions(ctx, force, inputs))
}

func (d *deps) outputOptions(ctx context.Context, force bool, inputs []dataFile) transfer.OutputOptions {
	return transfer.OutputOptions{
		Force:  force,
		Stdout: d.out.Out,
		Reads: func(ctx context.Context, e transfer.End) (string, bool) {
			for _, in := range inputs {
				if in.sameFile(ctx, e) {
					return in.text, true
				}
			}
			return "", false
		},
		Explain: func(title string, e transfer.End, err error) error {
			switch {
			case errors.Is(err, transfer.ErrNotReplaced):
				return hinted{err, "--force replaces files that exist"}
			case errors.Is(err, transfer.ErrNotRegular):
				return hinted{err, "use - and let the shell lead standard output there"}
			}
			return (&copier{d: d, o: &copyOptions{}, to: copyTarget{text: title, end: e}}).hint(ctx, err)
		},
	}
}

// outputEnd reads the operand of one output file; "-" gives a zero End.
func (d *deps) outputEnd(ctx context.Context, text string) (transfer.End, error) {
	op, err := d.parseOperand(text)
	if err != nil || op.side == stdio {
		return transfer.End{}, err
	}
	t, err := d.target(ctx, op, false)
	switch {
	case err != nil:
		return t.end, err
	case t.isDir || t.slash:
		return t.end, cliargs.Usagef("%q is a directory: the name of a file is needed", text)
	}
	return t.end, nil
}

// outputDir reads the operand of a directory for outputs and makes it if it is
// missing; what is above it must be there.
func (d *deps) outputDir(ctx context.Context, text string) (transfer.End, error) {
	t, err := d.lookAtDir(ctx, text)
	if err == nil {
		err = d.makeDir(ctx, t)
	}
	return t.end, err
}

// inDir is what messages and results call the file of a name in the directory that text
// names: as the user writes it.
func inDir(text, name string) string {
	if n := len(text); n > 0 && os.IsPathSeparator(text[n-1]) {
		text = text[:n-1]
	}
	return text + "/" + name
}

// makeDir makes the directory t if it is missing.
func (d *deps) makeDir(ctx context.Context, t copyTarget) error {
	if t.exists {
		return nil
	}
	return (&copier{d: d, o: &copyOptions{}, to: t}).hint(ctx, t.end.FS.Mkdir(ctx, t.end.Path, 0o755))
}

// lookAtDir is outputDir that makes nothing.
func (d *deps) lookAtDir(ctx context.Context, text string) (copyTarget, error) {
	op, err := d.parseOperand(text)
	if err == nil && op.side == stdio {
		err = cliargs.Usagef("\"-\" is no directory: several files need one")
	}
	if err != nil {
		return copyTarget{}, err
	}
	t, err := d.target(ctx, op, false)
	if err == nil && t.exists && !t.isDir {
		err = pfs.Errorf("paddlectl.outputDir", t.end.Path, pfs.NotDir, "several files need a directory")
	}
	return t, err
}

// cleanUpTime bounds the removal of what is left of a set that failed.
const cleanUpTime = 30 * time.Second
