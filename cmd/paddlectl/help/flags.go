package help

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func Flags(a *app.App, program *cli.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "flags", Args: "[SUBCOMMAND...]", Most: -1,
		Summary: "describe all known top-level flags",
		Text:    "Describes the flags of the program, or those of a subcommand.",
		Run: func(_ context.Context, operands []string) error {
			path, err := findCommand(program, operands)
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
