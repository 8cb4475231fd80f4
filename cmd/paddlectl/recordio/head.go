package recordio

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/urfave/cli/v2"
)

func recordioHeadCommand(a *app.App) *cli.Command {
	o, p := &datafile.ReadOptions{}, &formatOptions{}
	var n int64
	return a.NewCommand(app.Spec{
		Name: "head", Args: "FILE...", Least: 1, Most: -1,
		Summary: "print the first records",
		Text:    `Prints the first records of each file.`,
		Examples: []string{
			"paddlectl recordio head -n 3 --format json train-00000",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: append(append([]cli.Flag{
			&cli.Int64Flag{Name: "records", Aliases: []string{"n"}, Usage: "print `N` records of each file", Value: 10, Destination: &n},
		}, p.flags()...), o.Flags("fail")...),
		Run: func(ctx context.Context, operands []string) error {
			if n < 0 {
				return cliargs.Usagef("--records %d: a number from 0 up is needed", n)
			}
			if old := app.OldCount.FindString(operands[0]); old != "" {
				return cliargs.Usagef("%s: write -n %s; a file of that name is ./%s", old, old[1:], old)
			}
			return printRecords(ctx, a, o, p, recordRange{hi: n, head: true}, operands)
		},
	})
}
