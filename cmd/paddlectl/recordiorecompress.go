package main

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/urfave/cli/v2"
)

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
