package config

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func useContextCommand(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "use-context", Args: "NAME", Least: 1, Most: 1,
		Summary:  "make a datacenter the current one",
		Text:     "Makes the datacenter NAME of the configuration the current one, in whichever of the two ways the file says it.",
		Examples: []string{"paddlectl config use-context datacenter2"},
		Exits:    []cliio.Code{cliio.NotFound},
		Run: func(_ context.Context, operands []string) error {
			return editConfig(a, func(f *config.File) error { return f.SetCurrent(operands[0]) })
		},
	})
}
