package main

import (
	"slices"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/urfave/cli/v2"
)

func (m *Main) helpCommand(app *cli.App) *cli.Command {
	return &cli.Command{
		Name:      "help",
		Usage:     "describe the program or a command",
		ArgsUsage: "[COMMAND [SUBCOMMAND]]",
		Action: func(c *cli.Context) error {
			var path []*cli.Command
			for _, name := range c.Args().Slice() {
				next, err := subcommand(app, path, name)
				if err != nil {
					return err
				}
				path = append(path, next)
			}
			m.printer.Printf("%s", cliargs.Help(app, path...))
			return nil
		},
	}
}

// subcommand finds the command called name below the last one of path.
func subcommand(app *cli.App, path []*cli.Command, name string) (*cli.Command, error) {
	commands := app.Commands
	if len(path) > 0 {
		commands = path[len(path)-1].Subcommands
	}
	i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) })
	if i < 0 {
		return nil, cliargs.Usagef("no command %q", name)
	}
	return commands[i], nil
}
