package files

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func fileLsCommand(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "ls", Args: "PATH...", Least: 1, Most: -1,
		Summary:  "list files, one name a line",
		Text:     "Lists directories and files, one name a line.",
		Examples: []string{"paddlectl file ls /pfs/dc1/home/alice"},
		Exits:    app.PathExits(),
		Run: func(ctx context.Context, operands []string) error {
			return runLs(ctx, a, lsOptions{single: true, color: colorNever}, operands)
		},
	})
}
