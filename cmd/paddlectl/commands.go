package main

import (
	"context"

	"github.com/urfave/cli/v2"
)

func (d *deps) commandsCommand(app *cli.App) *cli.Command {
	return d.command(spec{
		name:    "commands",
		summary: "list all command names",
		text:    "Lists the names of all subcommands, one a line.",
		run: func(context.Context, []string) error {
			for _, c := range app.Commands {
				if !c.Hidden {
					d.out.Printf("%s\n", c.Name)
				}
			}
			return nil
		},
	})
}
