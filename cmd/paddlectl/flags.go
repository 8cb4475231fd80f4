package main

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/urfave/cli/v2"
)

func (d *deps) flagsCommand(app *cli.App) *cli.Command {
	return d.command(spec{
		name: "flags", args: "[SUBCOMMAND...]", most: -1,
		summary: "describe all known top-level flags",
		text:    "Describes the flags of the program, or those of a subcommand.",
		run: func(_ context.Context, operands []string) error {
			path, err := findCommand(app, operands)
			if err != nil {
				return err
			}
			flags := app.Flags
			if len(path) > 0 {
				flags = path[len(path)-1].Flags
			}
			d.out.Printf("%s", cliargs.FlagTable(flags))
			return nil
		},
	})
}
