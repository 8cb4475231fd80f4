package files

import (
	"context"
	"io"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/urfave/cli/v2"
)

type headOptions struct {
	headers
	lines int64
	bytes cliio.SizeFlag
}

func Head(a *app.App) *cli.Command {
	o := &headOptions{}
	linesGiven := false
	return a.NewCommand(app.Spec{
		Name: "head", Args: "PATH...", Least: 1, Most: -1,
		Summary: "print the beginning of files",
		Text: `Prints the first lines, or bytes, of files of the service, and reads little more of
them. Of several files each stands under its name.`,
		Examples: []string{
			"paddlectl head /pfs/dc1/home/alice/train.csv",
			"paddlectl head -c 4K /pfs/dc1/home/alice/big.bin | xxd",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: append([]cli.Flag{
			&cli.Int64Flag{Name: "lines", Aliases: []string{"n"}, Usage: "print the first `N` lines", Value: usualLines, Destination: &o.lines},
			&cli.GenericFlag{Name: "bytes", Aliases: []string{"c"}, Usage: "print the first `SIZE` bytes instead", Value: &o.bytes},
		}, o.flags()...),
		Given: func(isSet func(string) bool) { linesGiven = isSet("lines") },
		Run: func(ctx context.Context, operands []string) error {
			switch {
			case linesGiven && o.bytes.Given:
				return cliargs.Usagef("--lines and --bytes contradict each other")
			case o.lines < 0:
				return cliargs.Usagef("--lines %d: a number from 0 up is needed", o.lines)
			}
			return eachOpen(ctx, a, &o.headers, operands, func(in *datafile.Input) error { return o.print(ctx, a.Out, in) })
		},
	})
}

func (o *headOptions) print(ctx context.Context, w io.Writer, in *datafile.Input) error {
	if o.bytes.Given {
		return copyPart(ctx, in, w, 0, o.bytes.Bytes)
	}
	_, err := copyLines(ctx, in, w, o.lines)
	return err
}
