// Package help has the commands about the program itself: help, commands, flags, completion and
// version.
package help

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

// Help returns the command help.
func Help(a *app.App, program *cli.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "help", Args: "[SUBCOMMAND...]", Most: -1,
		Summary:  "describe subcommands and their syntax",
		Text:     "Describes a subcommand; without one lists them all.",
		Examples: []string{"paddlectl help cp", "paddlectl help config set"},
		Run: func(_ context.Context, operands []string) error {
			path, err := cliargs.FindCommand(program, operands)
			if err == nil {
				a.Printf("%s", cliargs.Help(program, path...))
			}
			return err
		},
	})
}

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
