package main

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

type catOptions struct {
	offset, length cliio.SizeFlag
}

func (d *deps) catCommand() *cli.Command {
	var o catOptions
	return d.command(spec{
		name: "cat", args: "PATH...", least: 1, most: -1,
		summary: "print files",
		text: `Writes files to standard output, one after the other. Bytes are checked before
they are written, and a whole file at its end, too.`,
		examples: []string{
			"paddlectl cat /pfs/dc1/home/alice/log.txt",
			"paddlectl cat --offset 1G --length 4K /pfs/dc1/home/alice/big.bin | xxd",
		},
		exits: pathExits(cliio.Integrity),
		flags: []cli.Flag{
			&cli.GenericFlag{Name: "offset", Usage: "begin `SIZE` bytes into each file", Value: &o.offset},
			&cli.GenericFlag{Name: "length", Usage: "at most `SIZE` bytes of each file", Value: &o.length},
		},
		run: func(ctx context.Context, operands []string) error { return runCat(ctx, d, o, operands) },
	})
}

func runCat(ctx context.Context, d *deps, o catOptions, operands []string) error {
	for _, text := range operands {
		if text == "-" {
			return cliargs.Usagef("\"-\" is standard input: cat reads files of the service")
		}
	}
	return d.eachContent(ctx, operands, func(t target) error {
		job, err := transfer.New(transfer.Options{Retries: inPatience, Patience: d.patience(inPatience), Events: func(e transfer.Event) {
			if e.Kind == transfer.Retry {
				d.tellRetry(e, false)
			}
		}})
		if err != nil {
			return err
		}
		length := int64(-1)
		if o.length.Given {
			length = o.length.Bytes
		}
		_, err = job.ToWriter(ctx, d.remotes.once(t.end()), d.out.Out, o.offset.Bytes, length)
		return err
	})
}

// end is the target as package transfer knows it.
func (t target) end() transfer.End { return transfer.End{FS: t.fs, Path: t.path} }
