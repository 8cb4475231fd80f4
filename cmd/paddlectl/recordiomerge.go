package main

import (
	"cmp"
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/urfave/cli/v2"
)

// mergeOptions are the choices of merge, recompress and salvage.
type mergeOptions struct {
	readOptions
	writeOptions

	output string
	json   bool
}

func (o *mergeOptions) flags(policy string) []cli.Flag {
	flags := append([]cli.Flag{outputFlag(&o.output)}, o.writeOptions.flags()...)
	return append(append(flags, o.readOptions.flags(policy)...), jsonFlag(&o.json))
}

func (o *mergeOptions) check() error {
	switch {
	case o.output == "":
		return cliargs.Usagef("--output is needed: the file to make, or - for standard output")
	case o.output == "-" && o.json:
		return cliargs.Usagef("--json has no place beside the file on standard output")
	case o.output == "-" && o.index:
		return cliargs.Usagef("--index has no place beside standard output: --embed-index puts the index into the file")
	}
	return cmp.Or(o.readOptions.check(), o.writeOptions.check())
}

func (d *deps) recordioMergeCommand() *cli.Command {
	o := &mergeOptions{}
	return d.command(spec{
		name: "merge", args: "FILE...", least: 1, most: -1,
		summary: "make one file of several",
		text: `Writes the records of all files, one file after the other, to a new file. Every
record is checked and written anew, so any dialect becomes the usual one.`,
		examples: []string{"paddlectl recordio merge train-0000* -o train"},
		exits:    pathExits(cliio.Integrity),
		flags:    o.flags("fail"),
		run:      func(ctx context.Context, operands []string) error { return d.mergeRecords(ctx, o, operands) },
	})
}

// mergeRecords writes the records of all files to one.
func (d *deps) mergeRecords(ctx context.Context, o *mergeOptions, operands []string) error {
	if err := o.check(); err != nil {
		return err
	}
	files, err := d.dataFiles(ctx, operands)
	if err != nil {
		return err
	}
	e, err := d.outputEnd(ctx, o.output)
	if err != nil {
		return err
	}
	outs := d.newOutputs(ctx, o.force, files)
	defer outs.Abort()
	out, err := outs.Create(o.output, e)
	if err != nil {
		return err
	}
	r := d.startReading(ctx, &o.readOptions, files, false)
	defer r.m.end()
	to := &recordOutput{outs: outs, o: &o.writeOptions, out: out, parallel: o.parallel}
	if err := r.copyRecords(ctx, files, to.write); err != nil {
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
	r.m.end()
	d.tellWritten(o.json, o.quiet, to.written())
	return r.end(nil)
}
