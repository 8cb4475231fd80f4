package main

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/urfave/cli/v2"
)

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
