package files

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/copying"
	"github.com/urfave/cli/v2"
)

func fileGetCommand(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "get", Args: "SRC DEST", Least: 2, Most: 2,
		Summary:  "download a file or directory",
		Text:     "Downloads a file or directory. Files that exist are not replaced: for one file that\nis an error, in a directory they are left as they are.",
		Examples: []string{"paddlectl file get /pfs/dc1/home/alice/model.bin ."},
		Exits:    app.PathExits(cliio.Integrity),
		Run:      func(ctx context.Context, operands []string) error { return runFileGet(ctx, a, operands) },
	})
}

func runFileGet(ctx context.Context, a *app.App, operands []string) error {
	from, err := a.RemoteOperands(operands[:1])
	if err != nil {
		return err
	}
	to, err := a.ParseOperand(operands[1])
	if err != nil {
		return err
	}
	if to.Side != app.Local {
		return cliargs.Usagef("%q: DEST must be a file or directory of this machine", to.Text)
	}
	o := copying.SimpleCopy()
	o.NoClobber = true
	return copying.CopyAll(ctx, a, o, from, to)
}
