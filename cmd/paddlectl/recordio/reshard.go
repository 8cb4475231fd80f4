package recordio

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func recordioReshardCommand(a *app.App) *cli.Command {
	o := &splitOptions{needed: "--files"}
	return a.NewCommand(app.Spec{
		Name: "reshard", Args: "FILE...", Least: 1, Most: -1,
		Summary: "make K files of N",
		Text: `Distributes the records of all files, one file after the other, over --files new
files of consecutive records whose numbers differ by at most one. The files appear
together when all are complete. The old files stay.`,
		Examples: []string{"paddlectl recordio reshard --files 8 --output-path eight --name 'train-%05d-of-%05d' old/train-*"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags: o.flags(
			&cli.IntFlag{Name: "files", Usage: "make `K` files", DefaultText: "none", Destination: &o.files},
		),
		Run: func(ctx context.Context, operands []string) error { return splitRecords(ctx, a, o, operands) },
	})
}
