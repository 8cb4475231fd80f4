package main

import (
	"context"
	"io"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/urfave/cli/v2"
)

type headOptions struct {
	headers
	lines int64
	bytes cliio.SizeFlag
}

func (d *deps) headCommand() *cli.Command {
	o := &headOptions{}
	linesGiven := false
	return d.command(spec{
		name: "head", args: "PATH...", least: 1, most: -1,
		summary: "print the beginning of files",
		text: `Prints the first lines, or bytes, of files of the service, and reads little more of
them. Of several files each stands under its name.`,
		examples: []string{
			"paddlectl head /pfs/dc1/home/alice/train.csv",
			"paddlectl head -c 4K /pfs/dc1/home/alice/big.bin | xxd",
		},
		exits: pathExits(cliio.Integrity),
		flags: append([]cli.Flag{
			&cli.Int64Flag{Name: "lines", Aliases: []string{"n"}, Usage: "print the first `N` lines", Value: usualLines, Destination: &o.lines},
			&cli.GenericFlag{Name: "bytes", Aliases: []string{"c"}, Usage: "print the first `SIZE` bytes instead", Value: &o.bytes},
		}, o.flags()...),
		given: func(isSet func(string) bool) { linesGiven = isSet("lines") },
		run: func(ctx context.Context, operands []string) error {
			switch {
			case linesGiven && o.bytes.Given:
				return cliargs.Usagef("--lines and --bytes contradict each other")
			case o.lines < 0:
				return cliargs.Usagef("--lines %d: a number from 0 up is needed", o.lines)
			}
			return d.eachOpen(ctx, &o.headers, operands, func(in *input) error { return o.print(ctx, d.out.Out, in) })
		},
	})
}

func (o *headOptions) print(ctx context.Context, w io.Writer, in *input) error {
	if o.bytes.Given {
		return in.copyPart(ctx, w, 0, o.bytes.Bytes)
	}
	_, err := in.copyLines(ctx, w, o.lines)
	return err
}
