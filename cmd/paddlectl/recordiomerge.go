package main

import (
	"cmp"
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/recordio"
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

func (d *deps) recordioRecompressCommand() *cli.Command {
	o := &mergeOptions{}
	return d.command(spec{
		name: "recompress", args: "FILE", least: 1, most: 1,
		summary: "write a file anew with another compressor or other chunks",
		text: `Writes the records of a file to a new one, with another compressor, other chunks, or
an index. The same records and choices give the same bytes, with any --parallel.`,
		examples: []string{
			"paddlectl recordio recompress --compressor snappy --chunk 1M train -o train.snappy",
			"paddlectl recordio recompress --compressor none - -o - < in > out",
		},
		exits: pathExits(cliio.Integrity),
		flags: o.flags("fail"),
		run: func(ctx context.Context, operands []string) error {
			if o.compressor == "" && !o.chunk.Given && !o.index && !o.embed {
				return cliargs.Usagef("one of --compressor, --chunk, --index and --embed-index is needed")
			}
			return d.mergeRecords(ctx, o, operands)
		},
	})
}

func (d *deps) recordioSalvageCommand() *cli.Command {
	o := &mergeOptions{}
	return d.command(spec{
		name: "salvage", args: "FILE", least: 1, most: 1,
		summary: "make a whole file of what a damaged one still holds",
		text: `Writes all records that can be proven right to a new file, and names each damaged
place, what was lost there and what was saved. docs/recordio-damage.md tells what can
be saved of what. If a record was lost, or may have been, the exit code is 8.

With --on-damage skip chunks that are damaged are left out whole.`,
		examples: []string{"paddlectl recordio salvage train-00000 -o train-00000.saved"},
		exits:    pathExits(cliio.Integrity),
		flags:    o.flags("salvage"),
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
	defer outs.abort()
	out, err := outs.create(o.output, e)
	if err != nil {
		return err
	}
	r := d.startReading(ctx, &o.readOptions, files, false)
	defer r.m.end()
	to := &recordOutput{o: &o.writeOptions, out: out, parallel: o.parallel}
	if err := r.copyRecords(ctx, files, to.write); err != nil {
		return err
	}
	if err := steps(to.close, to.writeIndex, outs.publish); err != nil {
		return err
	}
	r.m.end()
	d.tellWritten(o.json, o.quiet, to.written())
	return r.end(nil)
}

// steps does one after the other until one fails.
func steps(each ...func() error) error {
	for _, do := range each {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// copyRecords passes the records of all files to write, with the compressor of the
// chunk that they are in. The first file that fails ends it.
func (r *reading) copyRecords(ctx context.Context, files []dataFile, write func(rec []byte, source recordio.Compressor) error) error {
	for _, f := range files {
		err := r.each(ctx, f, func(s *recordio.Scanner) error {
			for s.Scan() {
				if err := write(s.Bytes(), s.Chunk().Compressor); err != nil {
					return err
				}
			}
			return recordError(s.Err())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writtenJSON is how --json shows a file that was made.
type writtenJSON struct {
	Path    string `json:"path"`
	Records int64  `json:"records"`
	Chunks  int64  `json:"chunks"`
	Bytes   int64  `json:"bytes"`
}

// tellWritten says what was made: with --json as a result, else as a message.
func (d *deps) tellWritten(json, quiet bool, j writtenJSON) {
	switch {
	case json:
		d.out.JSON(j) // an error shows when Out is flushed
	case !quiet:
		d.out.Message("%s: %s in %s, %s", j.Path, count(j.Records, "record", "records"),
			count(j.Chunks, "chunk", "chunks"), cliio.Size(j.Bytes))
	}
}
