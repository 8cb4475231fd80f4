package recordio

import (
	"cmp"
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/urfave/cli/v2"
)

// mergeOptions are the choices of merge, recompress and salvage.
type mergeOptions struct {
	datafile.ReadOptions
	writeOptions

	output string
	json   bool
}

func (o *mergeOptions) flags(policy string) []cli.Flag {
	flags := append([]cli.Flag{app.OutputFlag(&o.output)}, o.writeOptions.flags()...)
	return append(append(flags, o.ReadOptions.Flags(policy)...), app.JSONFlag(&o.json))
}

func (o *mergeOptions) check() error {
	switch {
	case o.output == "":
		return cliargs.Usagef("--output is needed: the file to write, or - for standard output")
	case o.output == "-" && o.json:
		return cliargs.Usagef("--json cannot be used when the file goes to standard output")
	case o.output == "-" && o.index:
		return cliargs.Usagef("--index cannot be used with standard output: --embed-index puts the index into the file")
	}
	return cmp.Or(o.ReadOptions.Check(), o.writeOptions.check())
}

func mergeCommand(a *app.App) *cli.Command {
	o := &mergeOptions{}
	return a.NewCommand(app.Spec{
		Name: "merge", Args: "FILE...", Least: 1, Most: -1,
		Summary: "join several files into one",
		Text: `Writes the records of all files, one file after the other, to a new file. Every
record is checked and rewritten, so any dialect becomes the usual one.`,
		Examples: []string{"paddlectl recordio merge train-0000* -o train"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags:    o.flags("fail"),
		Run:      func(ctx context.Context, operands []string) error { return mergeRecords(ctx, a, o, operands) },
	})
}

// mergeRecords writes the records of all files to one.
func mergeRecords(ctx context.Context, a *app.App, o *mergeOptions, operands []string) error {
	if err := o.check(); err != nil {
		return err
	}
	files, err := datafile.List(ctx, a, operands)
	if err != nil {
		return err
	}
	e, err := datafile.OutputEnd(ctx, a, o.output)
	if err != nil {
		return err
	}
	outs := datafile.NewOutputs(ctx, a, o.force, files)
	defer outs.Abort()
	out, err := outs.Create(o.output, e)
	if err != nil {
		return err
	}
	r := datafile.StartReading(ctx, a, &o.ReadOptions, files, false)
	defer r.M.End()
	to := &recordOutput{outs: outs, o: &o.writeOptions, out: out, parallel: o.Parallel}
	if err := copyRecords(ctx, r, files, to.write); err != nil {
		return err
	}
	if err := to.close(); err != nil {
		return err
	}
	if err := to.writeIndex(); err != nil {
		return err
	}
	if err := outs.Publish(); err != nil {
		return err
	}
	r.M.End()
	switch j := to.written(); {
	case o.json:
		a.JSON(j) // an error shows when Out is flushed
	case !o.Quiet:
		a.Message("%s: %s in %s, %s", j.Path, app.Count(j.Records, "record", "records"), app.Count(j.Chunks, "chunk", "chunks"), cliio.Size(j.Bytes))
	}
	return r.End(nil)
}

func recompressCommand(a *app.App) *cli.Command {
	o := &mergeOptions{}
	return a.NewCommand(app.Spec{
		Name: "recompress", Args: "FILE", Least: 1, Most: 1,
		Summary: "rewrite a file with another compressor or other chunks",
		Text: `Writes the records of a file to a new one, with another compressor, other chunks, or
an index. The same records and flags give the same bytes, with any --parallel.`,
		Examples: []string{
			"paddlectl recordio recompress --compressor snappy --chunk 1M train -o train.snappy",
			"paddlectl recordio recompress --compressor none - -o - < in > out",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: o.flags("fail"),
		Run: func(ctx context.Context, operands []string) error {
			if o.compressor == "" && !o.chunk.Given && !o.index && !o.embed {
				return cliargs.Usagef("one of --compressor, --chunk, --index and --embed-index is needed")
			}
			return mergeRecords(ctx, a, o, operands)
		},
	})
}

func salvageCommand(a *app.App) *cli.Command {
	o := &mergeOptions{}
	return a.NewCommand(app.Spec{
		Name: "salvage", Args: "FILE", Least: 1, Most: 1,
		Summary: "save the intact records of a damaged file",
		Text: `Writes all records that can be proven right to a new file, and prints each damaged place
with what was lost and what was saved there. docs/recordio-damage.md describes what can
be saved. If a record was lost, or may have been, the exit code is 8.

With --on-damage skip, damaged chunks are left out whole.`,
		Examples: []string{"paddlectl recordio salvage train-00000 -o train-00000.saved"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags:    o.flags("salvage"),
		Run:      func(ctx context.Context, operands []string) error { return mergeRecords(ctx, a, o, operands) },
	})
}
