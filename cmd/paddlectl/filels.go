package main

import (
	"context"

	"github.com/urfave/cli/v2"
)

func (d *deps) fileLsCommand() *cli.Command {
	return d.command(spec{
		name: "ls", args: "PATH...", least: 1, most: -1,
		summary:  "list files, one name a line",
		text:     "Lists directories and files, one name a line.",
		examples: []string{"paddlectl file ls /pfs/dc1/home/alice"},
		exits:    pathExits(),
		run: func(ctx context.Context, operands []string) error {
			return runLs(ctx, d, lsOptions{single: true, color: colorNever}, operands)
		},
	})
}
