package main

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/urfave/cli/v2"
)

func (d *deps) recordioReshardCommand() *cli.Command {
	o := &splitOptions{needed: "--files"}
	return d.command(spec{
		name: "reshard", args: "FILE...", least: 1, most: -1,
		summary: "make K files of N",
		text: `Distributes the records of all files, one file after the other, over --files new
files of consecutive records whose numbers differ by at most one. The files appear
together when all are complete. The old files stay.`,
		examples: []string{"paddlectl recordio reshard --files 8 --output-path eight --name 'train-%05d-of-%05d' old/train-*"},
		exits:    pathExits(cliio.Integrity),
		flags: o.flags(
			&cli.IntFlag{Name: "files", Usage: "make `K` files", DefaultText: "none", Destination: &o.files},
		),
		run: func(ctx context.Context, operands []string) error { return d.splitRecords(ctx, o, operands) },
	})
}
