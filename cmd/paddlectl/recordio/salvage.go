package recordio

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func recordioSalvageCommand(a *app.App) *cli.Command {
	o := &mergeOptions{}
	return a.NewCommand(app.Spec{
		Name: "salvage", Args: "FILE", Least: 1, Most: 1,
		Summary: "make a whole file of what a damaged one still holds",
		Text: `Writes all records that can be proven right to a new file, and names each damaged
place, what was lost there and what was saved. docs/recordio-damage.md tells what can
be saved of what. If a record was lost, or may have been, the exit code is 8.

With --on-damage skip chunks that are damaged are left out whole.`,
		Examples: []string{"paddlectl recordio salvage train-00000 -o train-00000.saved"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags:    o.flags("salvage"),
		Run:      func(ctx context.Context, operands []string) error { return mergeRecords(ctx, a, o, operands) },
	})
}
