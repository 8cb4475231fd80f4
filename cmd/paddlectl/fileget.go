package main

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/urfave/cli/v2"
)

func (d *deps) fileGetCommand() *cli.Command {
	return d.command(spec{
		name: "get", args: "SRC DEST", least: 2, most: 2,
		summary:  "download a file or directory",
		text:     "Downloads a file or directory. Files that exist are not replaced: for one file that\nis an error, in a directory they are left as they are.",
		examples: []string{"paddlectl file get /pfs/dc1/home/alice/model.bin ."},
		exits:    pathExits(cliio.Integrity),
		run:      func(ctx context.Context, operands []string) error { return runFileGet(ctx, d, operands) },
	})
}

func runFileGet(ctx context.Context, d *deps, operands []string) error {
	from, err := d.remoteOperands(operands[:1])
	if err != nil {
		return err
	}
	to, err := d.parseOperand(operands[1])
	if err != nil {
		return err
	}
	if to.side != local {
		return cliargs.Usagef("%q: DEST must be a file or directory of this machine", to.text)
	}
	o := simpleCopy()
	o.noClobber = true
	return d.copyAll(ctx, o, from, to)
}
