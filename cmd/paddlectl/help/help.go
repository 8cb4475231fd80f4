// Package help has the commands that list commands and flags, and the completion of paths.
package help

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/urfave/cli/v2"
)

// Commands returns the command commands.
func Commands(a *app.App, program *cli.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name:    "commands",
		Summary: "list all command names",
		Text:    "Lists the names of all subcommands, one per line.",
		Run: func(context.Context, []string) error {
			for _, c := range program.Commands {
				if !c.Hidden {
					a.Printf("%s\n", c.Name)
				}
			}
			return nil
		},
	})
}

// Flags returns the command flags.
func Flags(a *app.App, program *cli.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "flags", Args: "[SUBCOMMAND...]", Most: -1,
		Summary: "describe all known top-level flags",
		Text:    "Describes the flags of the program, or those of a subcommand.",
		Run: func(_ context.Context, operands []string) error {
			path, err := cliargs.FindCommand(program, operands)
			if err != nil {
				return err
			}
			flags := program.Flags
			if len(path) > 0 {
				flags = path[len(path)-1].Flags
			}
			a.Printf("%s", cliargs.FlagTable(flags))
			return nil
		},
	})
}
