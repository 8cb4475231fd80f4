package files

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func fileRmCommand(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "rm", Args: "PATH...", Least: 1, Most: -1,
		Summary:  "remove files",
		Text:     "Removes files. paddlectl rm -r removes directories.",
		Examples: []string{"paddlectl file rm /pfs/dc1/home/alice/old.csv"},
		Exits:    app.PathExits(),
		Run:      func(ctx context.Context, operands []string) error { return runRm(ctx, a, rmOptions{}, operands) },
	})
}
