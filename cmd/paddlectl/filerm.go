package main

import (
	"context"

	"github.com/urfave/cli/v2"
)

func (d *deps) fileRmCommand() *cli.Command {
	return d.command(spec{
		name: "rm", args: "PATH...", least: 1, most: -1,
		summary:  "remove files",
		text:     "Removes files. paddlectl rm -r removes directories.",
		examples: []string{"paddlectl file rm /pfs/dc1/home/alice/old.csv"},
		exits:    pathExits(),
		run:      func(ctx context.Context, operands []string) error { return runRm(ctx, d, rmOptions{}, operands) },
	})
}
