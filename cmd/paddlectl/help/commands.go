package help

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func Commands(a *app.App, program *cli.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name:    "commands",
		Summary: "list all command names",
		Text:    "Lists the names of all subcommands, one a line.",
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
