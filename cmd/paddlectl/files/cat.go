package files

import (
	"context"
	"slices"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/copying"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

// Cat returns the command cat.
func Cat(a *app.App) *cli.Command {
	var offset, length cliio.SizeFlag
	return a.NewCommand(app.Spec{
		Name: "cat", Args: "PATH...", Least: 1, Most: -1,
		Summary: "print files",
		Text: `Writes files to standard output, one after the other. Bytes are verified before
they are written, and each whole file again at its end.`,
		Examples: []string{
			"paddlectl cat /pfs/dc1/home/alice/log.txt",
			"paddlectl cat --offset 1G --length 4K /pfs/dc1/home/alice/big.bin | xxd",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "offset", Usage: "start `SIZE` bytes into each file", Value: &offset},
			&cli.GenericFlag{Name: "length", Usage: "write at most `SIZE` bytes of each file", Value: &length},
		},
		Run: func(ctx context.Context, operands []string) error { return runCat(ctx, a, offset, length, operands) },
	})
}

func runCat(ctx context.Context, a *app.App, offset, length cliio.SizeFlag, operands []string) error {
	if slices.Contains(operands, "-") {
		return cliargs.Usagef("\"-\" is standard input: cat reads files of the service")
	}
	return a.EachContent(ctx, operands, func(t app.Target) error {
		job, err := transfer.New(transfer.Options{Events: func(e transfer.Event) {
			if e.Kind == transfer.Retry {
				copying.TellRetry(a, e, false)
			}
		}})
		if err != nil {
			return err
		}
		most := int64(-1)
		if length.Given {
			most = length.Bytes
		}
		_, err = job.ToWriter(ctx, t.End(), a.Out, offset.Bytes, most)
		return err
	})
}
