package main

import (
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/urfave/cli/v2"
)

func (m *Main) helpCommand(app *cli.App) *cli.Command {
	return &cli.Command{
		Name:      "help",
		Usage:     "describe the program or a command",
		ArgsUsage: "[COMMAND [SUBCOMMAND]]",
		Action: func(c *cli.Context) error {
			path, err := cliargs.FindCommand(app, c.Args().Slice())
			if err == nil {
				m.printer.Printf("%s", cliargs.Help(app, path...))
			}
			return err
		},
	}
}
