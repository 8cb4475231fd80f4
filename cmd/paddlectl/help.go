package main

import (
	"context"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/urfave/cli/v2"
)

func (d *deps) helpCommand(app *cli.App) *cli.Command {
	return d.command(spec{
		name: "help", args: "[SUBCOMMAND...]", most: -1,
		summary:  "describe subcommands and their syntax",
		text:     "Describes a subcommand; without one lists them all.",
		examples: []string{"paddlectl help cp", "paddlectl help config set"},
		run: func(_ context.Context, operands []string) error {
			path, err := findCommand(app, operands)
			if err == nil {
				d.out.Printf("%s", cliargs.Help(app, path...))
			}
			return err
		},
	})
}

// findCommand finds the command that the names lead to.
func findCommand(app *cli.App, names []string) ([]*cli.Command, error) {
	var path []*cli.Command
	commands := app.Commands
	for _, name := range names {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) })
		if i < 0 {
			what := app.Name + " commands lists them"
			if near := cliargs.NearestCommand(name, cliargs.CommandWords(commands)); near != "" {
				what = "did you mean " + near + "?"
			}
			return nil, cliargs.Usagef("no subcommand %q: %s", strings.Join(names, " "), what)
		}
		path = append(path, commands[i])
		commands = commands[i].Subcommands
	}
	return path, nil
}
